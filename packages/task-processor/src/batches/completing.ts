import { isTaskError, TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask } from '@taskstream/task-api'
import type { BatchEnvironment } from './batch.ts'
import { failed } from './decisions.ts'
import { Condition } from '../core/listener.ts'
import type { BatchEvent } from '../core/listener.ts'
import type { Patience } from '../core/patience.ts'
import type { Decisions } from '../core/task-handler.ts'

/** What is written of tasks. A task that is alone, and of which one cannot be written, is tried with the next. */
type Rung = 'decided' | 'in ascii' | 'failed' | 'returned'

/** Tasks that are written together. Of those that are returned, the decision is not looked at. */
interface Part {
  readonly rung: Rung
  readonly decisions: Decisions
  /** It was not given a lock, or not the time, before. */
  readonly waited?: true
  /** What went wrong was told. */
  readonly told?: true
}

/** What is known of one call: what was written as it was asked for, and why the rest was not. */
interface Outcome {
  completed: HeldTask[]
  lost: HeldTask[]
  failure?: { readonly error: unknown }
}

/** Stands for none. */
const noDecision = TaskDecision.success()

/** So many tasks in a row of which nothing can be written: it is not because of them, and the others are not taken one by one. */
const hopeless = 3

/** What completing needs of its batch's environment. */
export type CompletingEnvironment<Transaction> = Pick<
  BatchEnvironment<Transaction>,
  'topic' | 'repository' | 'dispatcher' | 'listener' | 'retry'
>

/**
 * Writes what becomes of the tasks of a batch, whatever goes wrong. What the database is short of is waited for. Any other error halves what is
 * written together, until a task that cannot be written is alone: it costs no neighbour. That task is written in ASCII, then as failed, then
 * it is handed back. What cannot even be handed back is undecided: it stays held, and somebody must see to it.
 */
export class Completing<Transaction> {
  readonly #environment: CompletingEnvironment<Transaction>
  readonly #batch: { readonly event: BatchEvent }
  readonly #plain: boolean
  readonly #condition: Condition
  #finished: readonly HeldTask[] = []
  #returned: readonly HeldTask[] = []
  #lost: readonly HeldTask[] = []
  /** What was left as it was; something may have become of it since. */
  #left: readonly HeldTask[] = []
  /** Tasks in a row of which nothing could be written. */
  #hopeless = 0
  #setback = false

  /** `plain`: what is completed together is a single statement. */
  constructor(environment: CompletingEnvironment<Transaction>, batch: { readonly event: BatchEvent }, plain: boolean) {
    this.#environment = environment
    this.#batch = batch
    this.#plain = plain
    this.#condition = new Condition(environment.listener, 'complete', environment.topic)
  }

  get finished(): readonly HeldTask[] {
    return this.#finished
  }

  get returned(): readonly HeldTask[] {
    return this.#returned
  }

  get undecided(): readonly HeldTask[] {
    return this.openOf(this.#left)
  }

  /** Whether a task had to be handed back, or left, because nothing else could be written of it: it would come to the same at once. */
  get setback(): boolean {
    return this.#setback
  }

  /** Tells of attempts that are made elsewhere. */
  get condition(): Condition {
    return this.#condition
  }

  /**
   * @param onWait called when a lock, or time, is waited for: it has to do with these tasks, and others need not wait too
   * @throws what kept a task from being completed as it was decided, when all is done and told
   */
  async complete(decisions: Decisions, patience: Patience, onWait: () => void = () => {}): Promise<Completion> {
    if (decisions.size === 0) return { completed: [], lost: [] }
    const { failure, ...completion } = await this.#write({ rung: 'decided', decisions }, patience, onWait)
    if (failure) throw failure.error
    return completion
  }

  /** Makes what is still held of these tasks ready again; never rejects. */
  async handBack(tasks: readonly HeldTask[], patience: Patience): Promise<void> {
    const open = this.openOf(tasks)
    if (open.length > 0) await this.#write(returning(open), patience, () => {})
  }

  /** Notes and tells what was committed. */
  completed({ completed, lost }: Completion, decisions: Decisions): Completion {
    const { listener } = this.#environment
    this.#finished = join(this.#finished, completed)
    const gone = this.#gone(lost)
    const event = this.#eventOf(decisions)
    const completion = { completed, lost: gone }
    if (completed.length > 0 || gone.length > 0) listener.onComplete({ ...event, completion, decisions })
    if (gone.length > 0) listener.onLost({ ...event, tasks: gone })
    return completion
  }

  async #write(whole: Part, patience: Patience, onWait: () => void): Promise<Outcome> {
    const { dispatcher } = this.#environment
    const outcome: Outcome = { completed: [], lost: [] }
    const parts = [whole]
    let failures = 0
    for (let part = parts.shift(); part; part = parts.shift()) {
      let begun = false
      try {
        this.#note(part, await this.#once(part, () => (begun = true)), outcome)
        this.#hopeless = failures = 0
      } catch (error) {
        if (!dispatcher.isPassing(error, begun)) {
          parts.unshift(...this.#otherwise(part, error, outcome))
          continue
        }
        if (patience.isOver) {
          this.#leave([part, ...parts], error, outcome)
          return outcome
        }
        this.#condition.failed(error)
        const waits = begun && isWait(error)
        if (waits) onWait()
        parts.push(...(waits ? later(part) : [part]))
        await patience.pause(++failures)
      }
    }
    // Not before: of a row that stays locked it is told once, however many neighbours are done.
    this.#condition.worked()
    return outcome
  }

  #once({ rung, decisions }: Part, onBegun: () => void): Promise<Completion> {
    const { dispatcher, repository, topic } = this.#environment
    return dispatcher.once<Completion>(
      (transaction) => {
        onBegun()
        return rung === 'returned'
          ? repository.handBack(transaction, topic, decisions.keys())
          : repository.complete(transaction, topic, decisions)
      },
      { single: this.#plain },
    )
  }

  #note({ rung, decisions }: Part, completion: Completion, outcome: Outcome): void {
    if (rung !== 'returned') {
      const { completed, lost } = this.completed(completion, decisions)
      // Most often there is one part, and nothing to be joined.
      outcome.completed = join(outcome.completed, completed) as HeldTask[]
      outcome.lost = join(outcome.lost, lost) as HeldTask[]
      return
    }
    const { listener } = this.#environment
    const event = this.#eventOf(decisions)
    this.#returned = join(this.#returned, completion.completed)
    const gone = this.#gone(completion.lost)
    if (completion.completed.length > 0) listener.onReturned({ ...event, tasks: completion.completed })
    if (gone.length > 0) listener.onLost({ ...event, tasks: gone })
  }

  /** What is tried instead. */
  #otherwise(part: Part, error: unknown, outcome: Outcome): readonly Part[] {
    const { rung, decisions } = part
    const isHopeless = this.#hopeless >= hopeless
    if (decisions.size > 1 && !isHopeless) return halves(part)
    const [[task, decision]] = decisions as unknown as [[HeldTask, TaskDecision]]
    const ascii = decision.inAscii()
    if (rung === 'decided' && ascii !== decision && !isHopeless) return alone(task, ascii, 'in ascii')
    this.#tell(part, error, outcome)
    if (isHopeless || rung === 'returned') {
      this.#hopeless++
      this.#leaveTasks([...decisions.keys()])
      return []
    }
    if (rung !== 'failed') return alone(task, failed(task, error, this.#environment.retry).inAscii(), 'failed')
    this.#setback = true
    return alone(task, decision, 'returned')
  }

  /** Of a task it is told once that it could not be written as it was to be. */
  #tell({ decisions, told }: Part, error: unknown, outcome: Outcome): void {
    if (told) return
    outcome.failure ??= { error }
    this.#environment.listener.onError({ ...this.#eventOf(decisions), activity: 'complete', error })
  }

  /** Nobody waits any more. */
  #leave(parts: readonly Part[], error: unknown, outcome: Outcome): void {
    const { listener } = this.#environment
    outcome.failure ??= { error }
    const tasks = parts.flatMap(({ decisions }) => [...decisions.keys()])
    this.#leaveTasks(tasks)
    // What was repeated was told when it began.
    if (this.#condition.failures === 0) listener.onError({ ...this.#batch.event, tasks, activity: 'complete', error })
  }

  #leaveTasks(tasks: readonly HeldTask[]): void {
    this.#setback = true
    this.#left = join(this.#left, tasks)
  }

  /** Of tasks that are said to be lost, those that are not done or handed back by this very batch. */
  #gone(lost: readonly HeldTask[]): readonly HeldTask[] {
    const gone = this.openOf(lost)
    this.#lost = join(this.#lost, gone)
    return gone
  }

  /** Those of which nothing has become yet. */
  openOf(tasks: readonly HeldTask[]): readonly HeldTask[] {
    // mutants: equivalent condition:false logic:&&, a shorter way to the same
    if (tasks.length === 0 || this.#finished.length + this.#returned.length + this.#lost.length === 0) return tasks
    const done = new Set([...this.#finished, ...this.#returned, ...this.#lost])
    return tasks.filter((task) => !done.has(task))
  }

  /** Of a part it is told with the part's tasks. */
  #eventOf(decisions: Decisions): BatchEvent {
    const { event } = this.#batch
    return event.tasks.length === decisions.size ? event : { ...event, tasks: [...decisions.keys()] }
  }
}

/** With a decision that it is not to be in ASCII only, it was told why. */
function alone(task: HeldTask, decision: TaskDecision, rung: Rung): readonly Part[] {
  return [{ rung, decisions: new Map([[task, decision]]), ...(rung !== 'in ascii' && { told: true }) }]
}

function returning(tasks: readonly HeldTask[]): Part {
  return { rung: 'returned', decisions: new Map(tasks.map((task) => [task, noDecision])) }
}

/** A row that somebody keeps locked is to hold up no other: what has waited before is halved. */
function later(part: Part): readonly Part[] {
  const again: Part = { ...part, waited: true }
  return part.waited && part.decisions.size > 1 ? halves(again) : [again]
}

function halves({ decisions, ...part }: Part): readonly Part[] {
  const all = [...decisions]
  const middle = Math.ceil(all.length / 2)
  return [all.slice(0, middle), all.slice(middle)].map((half) => ({ ...part, decisions: new Map(half) }))
}

function isWait(error: unknown): boolean {
  return isTaskError(error, 'DATABASE_BUSY') && ['lock', 'time'].includes(error.data['shortOf'] as string)
}

function join(some: readonly HeldTask[], others: readonly HeldTask[]): readonly HeldTask[] {
  // mutants: equivalent condition:false, nothing is copied that need not be
  return some.length === 0 ? others : others.length === 0 ? some : [...some, ...others]
}
