import { isTaskError, TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask } from '@taskstream/task-api'
import type { BatchEnvironment } from './batch.ts'
import { completedEvent, failed, isSingleStatement } from './decisions.ts'
import { Condition } from '../core/listener.ts'
import type { BatchEvent } from '../core/listener.ts'
import type { Patience } from '../core/patience.ts'
import type { Decisions } from '../core/task-handler.ts'

/** The ways to write a task, in order. If a single task cannot be written in one way, the next is tried. */
type Rung = 'decided' | 'in ascii' | 'failed' | 'returned'

/** Tasks that are written together. For the rung `returned` their decisions are ignored. */
interface Part {
  readonly rung: Rung
  readonly decisions: Decisions
  /** Whether the part has timed out before, on a lock or on a statement. */
  readonly waited?: true
  /** Whether its error was reported. */
  readonly told?: true
}

/** The outcome of one call: the tasks that were written as decided, the lost ones, and the first error of the rest. */
interface Outcome {
  completed: HeldTask[]
  lost: HeldTask[]
  failure?: { readonly error: unknown }
}

/** A placeholder for tasks that are handed back. */
const noDecision = TaskDecision.success()

/** After so many tasks in a row about which nothing can be written, the cause is not a task: the others are no longer tried one by one. */
const hopeless = 3

/** The part of a batch's environment that completing needs. */
export type CompletingEnvironment<Transaction> = Pick<
  BatchEnvironment<Transaction>,
  'discard' | 'topic' | 'repository' | 'dispatcher' | 'listener' | 'retry'
>

/**
 * Writes the decisions of a batch, whatever goes wrong. If the database is away or short of something, completing waits. After any other error the
 * tasks are written in halves, until a task that cannot be written is alone and costs no other task. Such a task is written in ASCII, then as failed,
 * then it is handed back. A task that cannot even be handed back is undecided: it stays held.
 */
export class Completing<Transaction> {
  readonly #environment: CompletingEnvironment<Transaction>
  readonly #batch: { readonly event: BatchEvent }
  readonly #plain: boolean
  readonly #condition: Condition
  #finished: readonly HeldTask[] = []
  #returned: readonly HeldTask[] = []
  #lost: readonly HeldTask[] = []
  /** Tasks that were left held. Some may have been completed or handed back since. */
  #left: readonly HeldTask[] = []
  /** How many tasks in a row could not be written in any way. */
  #hopeless = 0
  #setback = false

  /** @param plain whether a completion is a single statement, as for a plain topic */
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

  /** Whether a task was handed back or left held because nothing else could be written. If polled again at once, it would fail again. */
  get setback(): boolean {
    return this.#setback
  }

  /** Reports failures of completions: also used for attempts that are made elsewhere. */
  get condition(): Condition {
    return this.#condition
  }

  /**
   * Completes tasks as decided.
   *
   * @param onWait called when a statement timed out, on a lock or in all. The cause is in these tasks, so other batches need not wait
   * @throws the first error that kept a task from being completed as decided, after everything was written and reported
   */
  async complete(decisions: Decisions, patience: Patience, onWait: () => void = () => {}): Promise<Completion> {
    if (decisions.size === 0) return { completed: [], lost: [] }
    const { failure, ...completion } = await this.#write({ rung: 'decided', decisions }, patience, onWait)
    if (failure) throw failure.error
    return completion
  }

  /** Hands back those of the tasks that are still held; never rejects. */
  async handBack(tasks: readonly HeldTask[], patience: Patience): Promise<void> {
    const open = this.openOf(tasks)
    if (open.length > 0) await this.#write(returning(open), patience, () => {})
  }

  /** Notes and reports a committed completion. */
  completed({ completed, lost }: Completion, decisions: Decisions): Completion {
    const { listener } = this.#environment
    this.#finished = join(this.#finished, completed)
    const gone = this.#gone(lost)
    const event = this.#eventOf(decisions)
    const completion = { completed, lost: gone }
    if (completed.length > 0 || gone.length > 0) listener.onComplete(completedEvent(event, completion, decisions))
    if (gone.length > 0) listener.onLost({ ...event, tasks: gone })
    return completion
  }

  async #write(whole: Part, patience: Patience, onWait: () => void): Promise<Outcome> {
    const { dispatcher } = this.#environment
    const outcome: Outcome = { completed: [], lost: [] }
    const parts = [whole]
    let failures = 0
    for (let next = parts.shift(); next; next = parts.shift()) {
      const part = this.#stillOpen(next)
      if (!part) continue
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
        await dispatcher.pause(patience, ++failures, error)
      }
    }
    // The recovery is reported only now, so that a row that stays locked is reported once, however many other tasks are written meanwhile.
    this.#condition.worked()
    return outcome
  }

  /** The part without what was written while its hand-back waited. Undefined if nothing is left of it. */
  #stillOpen(part: Part): Part | undefined {
    if (part.rung !== 'returned') return part
    const open = this.openOf([...part.decisions.keys()])
    if (open.length === part.decisions.size) return part
    return open.length === 0 ? undefined : { ...part, ...returning(open) }
  }

  #once({ rung, decisions }: Part, onBegun: () => void): Promise<Completion> {
    const { discard, dispatcher, repository, topic } = this.#environment
    return dispatcher.once<Completion>(
      (transaction) => {
        onBegun()
        return rung === 'returned'
          ? repository.handBack(transaction, topic, decisions.keys())
          : repository.complete(transaction, topic, decisions, discard && { discard })
      },
      { single: this.#plain && (rung === 'returned' || (!discard && isSingleStatement(decisions))) },
    )
  }

  #note({ rung, decisions }: Part, completion: Completion, outcome: Outcome): void {
    if (rung !== 'returned') {
      const { completed, lost } = this.completed(completion, decisions)
      // There is usually one part, for which `join` copies nothing.
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

  /** Decides what is tried after an error. */
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

  /** Reports once for each task that it could not be written as decided. */
  #tell({ decisions, told }: Part, error: unknown, outcome: Outcome): void {
    if (told) return
    outcome.failure ??= { error }
    this.#environment.listener.onError({ ...this.#eventOf(decisions), activity: 'complete', error })
  }

  /** Leaves the remaining tasks held, as nobody waits any more. */
  #leave(parts: readonly Part[], error: unknown, outcome: Outcome): void {
    const { listener } = this.#environment
    outcome.failure ??= { error }
    const tasks = parts.flatMap(({ decisions }) => [...decisions.keys()])
    this.#leaveTasks(tasks)
    // A failure that was repeated was reported when it began.
    if (this.#condition.failures === 0) listener.onError({ ...this.#batch.event, tasks, activity: 'complete', error })
  }

  #leaveTasks(tasks: readonly HeldTask[]): void {
    this.#setback = true
    this.#left = join(this.#left, tasks)
  }

  /** Selects the lost tasks that this batch has not itself completed or handed back. */
  #gone(lost: readonly HeldTask[]): readonly HeldTask[] {
    const gone = this.openOf(lost)
    this.#lost = join(this.#lost, gone)
    return gone
  }

  /** Selects the tasks that are neither completed, handed back nor lost. */
  openOf(tasks: readonly HeldTask[]): readonly HeldTask[] {
    // mutants: equivalent condition:false logic:&&, a shortcut to the same result
    if (tasks.length === 0 || this.#finished.length + this.#returned.length + this.#lost.length === 0) return tasks
    const done = new Set([...this.#finished, ...this.#returned, ...this.#lost])
    return tasks.filter((task) => !done.has(task))
  }

  /** Makes the event of a part, with the part's tasks only. */
  #eventOf(decisions: Decisions): BatchEvent {
    const { event } = this.#batch
    return event.tasks.length === decisions.size ? event : { ...event, tasks: [...decisions.keys()] }
  }
}

/** Makes a part of one task. Every rung but ASCII has been reported. */
function alone(task: HeldTask, decision: TaskDecision, rung: Rung): readonly Part[] {
  return [{ rung, decisions: new Map([[task, decision]]), ...(rung !== 'in ascii' && { told: true }) }]
}

function returning(tasks: readonly HeldTask[]): Part {
  return { rung: 'returned', decisions: new Map(tasks.map((task) => [task, noDecision])) }
}

/** Makes the parts to try after a timeout. A part that timed out before is halved, so that one locked row does not hold up the others. */
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
  // mutants: equivalent condition:false, the shortcut only avoids a copy
  return some.length === 0 ? others : others.length === 0 ? some : [...some, ...others]
}
