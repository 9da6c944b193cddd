/** Waits for jobs to end: one waiter for any number of them, which looks at all in one statement. */
import { isPassing } from '@taskstream/task-api'
import type { Execution, Task, TaskEnding, TaskError, TaskInfo, TaskKey } from '@taskstream/task-api'
import { jobNameOf } from '@taskstream/task-jobs'
import { systemClock } from '@taskstream/task-processor'
import type { Clock } from '@taskstream/task-processor'
import type { StreamDriver } from './stream-options.ts'

const firstPauseMs = 50
const longestPauseMs = 1_000
const growth = 1.5
/** Jobs whose looks are due within this time are looked at together. */
const togetherMs = 20

/** The job that is waited for, as its definition names it. An id is looked up once. */
export interface Awaited {
  readonly topic: string
  readonly which: number | { readonly externalId: string }
  /** Refuses the task of another job in the same queue. Without it, a sequence is not looked up. */
  readonly check?: ((task: TaskInfo) => void) | undefined
  /** The topics that several jobs share: the task has to be read to know which of them has ended. */
  readonly queues?: ReadonlySet<string>
}

/** How the work of a job has ended. */
export interface JobEnding extends TaskEnding {
  /** The name of the job that has ended, if it is in a queue and is not the one that was waited for. */
  readonly job?: string
}

export interface Patience {
  /** Called when `timeoutMs` is over. */
  readonly late: () => TaskError
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

interface Waiting {
  readonly topic: string
  readonly which: Awaited['which']
  readonly check: Awaited['check']
  readonly queues: Awaited['queues']
  /** The sequence of the job itself, if it was looked up. */
  own: number | undefined
  /** The task that does the work now, once it is known. */
  task: TaskKey | undefined
  nextMs: number
  pauseMs: number
  /** Whether a task has ended since the look under way began. */
  isStale: boolean
  readonly end: (ending: JobEnding | undefined) => void
  readonly fail: (error: unknown) => void
}

export class JobWaiter<Transaction, E extends Execution> {
  readonly #driver: StreamDriver<Transaction, E>
  readonly #clock: Clock
  readonly #waiting = new Set<Waiting>()
  #isLooking = false
  /** When the next look is due; infinite while no timer runs. */
  #atMs = Number.POSITIVE_INFINITY
  #cancel = (): void => {}

  constructor(driver: StreamDriver<Transaction, E>, clock: Clock = systemClock) {
    this.#driver = driver
    this.#clock = clock
  }

  /** @returns how the job has ended; undefined if it is not there */
  async wait({ topic, which, check, queues }: Awaited, { timeoutMs, signal, late }: Patience): Promise<JobEnding | undefined> {
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<JobEnding | undefined>()
    const task = typeof which === 'number' && !check ? { topic, sequence: which } : undefined
    const nextMs = this.#clock.monotonicMs()
    const one: Waiting = {
      topic,
      which,
      check,
      queues,
      own: undefined,
      task,
      nextMs,
      pauseMs: firstPauseMs,
      isStale: false,
      end: resolve,
      fail: reject,
    }
    const abort = (): void => reject(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    const cancel = timeoutMs === undefined ? undefined : this.#clock.after(timeoutMs, () => reject(late()))
    this.#waiting.add(one)
    this.#lookAt(nextMs)
    try {
      return await promise
    } finally {
      this.#waiting.delete(one)
      cancel?.()
      signal?.removeEventListener('abort', abort)
      // A timer would keep the process alive.
      if (this.#waiting.size === 0) this.#forget()
    }
  }

  /** Tells that this process has completed tasks, so that those who wait for them look at once. */
  completed(tasks: readonly Task[]): void {
    if (this.#waiting.size === 0) return
    const sequences = new Set(tasks.map(({ sequence }) => sequence))
    const nowMs = this.#clock.monotonicMs()
    for (const one of this.#waiting) {
      if (!one.task || !sequences.has(one.task.sequence)) continue
      one.isStale = true
      one.nextMs = nowMs
      this.#lookAt(nowMs)
    }
  }

  /** Ends all waiting with an error. */
  stop(error: () => TaskError): void {
    for (const { fail } of this.#waiting) fail(error())
  }

  #lookAt(atMs: number): void {
    if (this.#isLooking || this.#atMs <= atMs) return
    this.#forget()
    this.#atMs = atMs
    this.#cancel = this.#clock.after(Math.max(0, atMs - this.#clock.monotonicMs()), () => void this.#look())
  }

  #forget(): void {
    this.#cancel()
    this.#cancel = () => {}
    this.#atMs = Number.POSITIVE_INFINITY
  }

  async #look(): Promise<void> {
    this.#forget()
    this.#isLooking = true
    const untilMs = this.#clock.monotonicMs() + togetherMs
    const looked = [...this.#waiting].filter(({ nextMs }) => nextMs <= untilMs)
    for (const one of looked) one.isStale = false
    try {
      const found = await this.#endingsOf(looked)
      looked.forEach((one, index) => this.#told(one, found[index]))
    } catch (error) {
      // The database comes back. Whoever does not want to wait for that has given a time or a signal.
      for (const one of looked) {
        if (isPassing(error)) this.#again(one)
        else this.#ended(one, () => one.fail(error))
      }
    } finally {
      this.#isLooking = false
      const nextMs = [...this.#waiting].reduce((first, one) => Math.min(first, one.nextMs), Number.POSITIVE_INFINITY)
      if (this.#waiting.size > 0) this.#lookAt(nextMs)
    }
  }

  #told(one: Waiting, ending: JobEnding | undefined): void {
    if (ending?.ended === false) {
      one.task = ending.task
      this.#again(one)
    } else this.#ended(one, () => one.end(ending))
  }

  /** Whoever waits hears of it a little later. No look is made for it until then. */
  #ended(one: Waiting, tell: () => void): void {
    this.#waiting.delete(one)
    tell()
  }

  #again(one: Waiting): void {
    const nowMs = this.#clock.monotonicMs()
    one.nextMs = one.isStale ? nowMs : nowMs + one.pauseMs
    one.pauseMs = Math.min(longestPauseMs, one.pauseMs * growth)
  }

  #endingsOf(looked: readonly Waiting[]): Promise<readonly (JobEnding | undefined)[]> {
    const { repository, transactions } = this.#driver
    return transactions(async (transaction) => {
      for (const one of looked) {
        if (one.task) continue
        const task = await repository.task(transaction, one.topic, one.which)
        if (task && !isRightful(one, task)) continue
        one.own = task?.sequence
        one.task = task && { topic: task.topic, sequence: task.sequence }
      }
      const known = looked.filter(({ task }) => task)
      const endings = await repository.endings(
        transaction,
        known.map(({ task }) => task!),
      )
      const byOne = new Map<Waiting, JobEnding | undefined>(known.map((one, index) => [one, endings[index]]))
      for (const [one, ending] of byOne) {
        if (!ending?.ended || !one.queues?.has(ending.task.topic) || ending.task.sequence === one.own) continue
        const { topic, sequence } = ending.task
        const task: TaskInfo | undefined = await repository.task(transaction, topic, sequence)
        byOne.set(one, { ...ending, job: (task && jobNameOf(task)) ?? topic })
      }
      return looked.map((one) => byOne.get(one))
    })
  }
}

/** Whether the task is one of the job that is waited for. If not, whoever waits is told. */
function isRightful({ check, fail }: Waiting, task: TaskInfo): boolean {
  try {
    check?.(task)
    return true
  } catch (error) {
    fail(error)
    return false
  }
}
