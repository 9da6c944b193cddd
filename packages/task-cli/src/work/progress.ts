/** What a worker says of its work: a line for each trouble, a summary now and then, and a line for each task if that is asked for. */
import { headlineOf, isTaskError, taskToString } from '@taskstream/task-api'
import type { HeldTask, TaskDecision } from '@taskstream/task-api'
import { outcomeOf } from '@taskstream/task-processor'
import type { TaskListener } from '@taskstream/task-processor'
import { durationText } from './durations.ts'
import { oneLine } from './plain-text.ts'

const outcomes = ['succeeded', 'filtered', 'to be retried', 'suspended', 'failed', 'returned', 'lost'] as const
type Outcome = (typeof outcomes)[number]

const ends = {
  success: 'succeeded',
  filter: 'filtered',
  suspension: 'suspended',
  failure: 'failed',
  retry: 'to be retried',
  snooze: 'to be retried',
} as const

export class Progress {
  readonly listener: TaskListener
  readonly #say: (line: string) => void
  readonly #verbose: boolean
  readonly #counts = new Map<Outcome, number>(outcomes.map((outcome) => [outcome, 0]))
  /** When each task began that is at work, by the monotonic clock. */
  readonly #atWork = new Map<HeldTask, number>()
  readonly #tookMs = new WeakMap<HeldTask, number>()
  #said = ''

  /** @param say prints a line */
  constructor(say: (line: string) => void, verbose: boolean) {
    this.#say = say
    this.#verbose = verbose
    this.listener = {
      onComplete: ({ completion, decisions }) => {
        for (const task of completion.completed) this.#ended(task, decisions.get(task))
      },
      onReturned: ({ tasks }) => this.#all(tasks, 'returned'),
      onLost: ({ tasks }) => this.#all(tasks, 'lost'),
      onStuck: ({ tasks }) => this.#trouble(`${namesOf(tasks)}: the work has not ended in time, and is decided without it`),
      onError: ({ activity, topic, error }) => {
        // What becomes of a task is said when that is written.
        if (activity !== 'handle') this.#trouble(`${[topic, activity].filter(Boolean).join(', ')}: ${textOf(error)}`)
      },
      onRecovered: ({ activity, topic }) => this.#trouble(`${[topic, activity].filter(Boolean).join(', ')}: works again`),
      onFatal: ({ topic, error }) => this.#trouble(`${topic} is not processed: ${textOf(error)}`),
      onQuiet: ({ quiet }) =>
        this.#trouble(quiet ? 'asked to take no more tasks: what is at work is finished' : 'asked to take tasks again'),
      onLeaseLost: ({ leaseMs }) =>
        this.#trouble(`no heartbeat came through for ${durationText(leaseMs)}: others may take the tasks of this worker`),
    }
  }

  began(task: HeldTask): void {
    this.#atWork.set(task, performance.now())
  }

  ended(task: HeldTask): void {
    this.#tookMs.set(task, Math.round(performance.now() - (this.#atWork.get(task) ?? performance.now())))
    this.#atWork.delete(task)
  }

  get atWork(): number {
    return this.#atWork.size
  }

  /** What was done up to now, as `12 succeeded, 1 failed, 2 at work`. */
  get summary(): string {
    const counts = [...this.#counts].filter(([, count]) => count > 0).map(([outcome, count]) => `${count} ${outcome}`)
    return [...counts, ...(this.atWork > 0 ? [`${this.atWork} at work`] : [])].join(', ') || 'nothing to do'
  }

  /** Prints the summary, unless there is nothing new in it. */
  saySummary(): void {
    const { summary } = this
    if (summary !== this.#said || this.atWork > 0) this.#say(summary)
    this.#said = summary
  }

  #ended(task: HeldTask, decision: TaskDecision | undefined): void {
    if (!decision) return
    const outcome = ends[outcomeOf(task, decision)]
    const when = outcome === 'to be retried' ? ` in ${durationText(decision.retryAfterMs!)}` : ''
    const why = outcome === 'succeeded' ? '' : reasonOf(decision)
    this.#count(task, outcome, `${outcome}${when}, try ${task.tries}${why && `: ${why}`}`)
  }

  #all(tasks: readonly HeldTask[], outcome: Outcome): void {
    for (const task of tasks) this.#count(task, outcome, outcome)
  }

  #count(task: HeldTask, outcome: Outcome, said: string): void {
    this.#counts.set(outcome, this.#counts.get(outcome)! + 1)
    const took = this.#tookMs.get(task)
    if (this.#verbose) this.#say(oneLine(`${taskToString(task)} ${said}${took === undefined ? '' : ` (${durationText(took)})`}`))
  }

  #trouble(text: string): void {
    this.#say(oneLine(text))
  }
}

function namesOf(tasks: readonly HeldTask[]): string {
  return tasks.map(taskToString).join(', ')
}

function textOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return isTaskError(error) ? `${message} (${error.code})` : message
}

/** How much of an error a line tells. */
const reasonLength = 300

/** Why a task was not done, on one line. */
function reasonOf(decision: TaskDecision): string {
  const [first] = decision.explanations
  if (first instanceof Error && first.cause !== undefined) return headlineOf(first, reasonLength)
  return decision.toMessage()?.split('\n')[0] ?? ''
}
