import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { checkInteger, checkOptions, TaskError, timerKey, timersName } from '@taskstream/task-api'
import type { Execution, StoredTimer, TaskNotifier, TimedTaskRepository, TimerKey, TransactionSource } from '@taskstream/task-api'
import { limitTransactions, systemClock, Wake } from '@taskstream/task-processor'
import type { Clock, LimitedTransactions } from '@taskstream/task-processor'
import { fireNext } from './fire.ts'
import type { FiredOccurrence, FiredSeveral } from './fire.ts'
import { bindSteps } from './steps.ts'
import type { ZonesDiffer } from './zones-differ.ts'

/** What a scheduler tells. */
export interface PeriodicListener {
  /** An occurrence was due. */
  onFired?(event: FiredOccurrence): void
  /**
   * Another node has found an occurrence that this one would not have: their time zone data differs. It is submitted as it was found. Without
   * it: one line on the console.
   */
  onZonesDiffer?(event: ZonesDiffer): void
  /** Something went wrong, with a timer if one is named, and is tried again. Without it: a line on the console. */
  onError?(error: unknown, timer?: TimerKey): void
}

export interface PeriodicSchedulerOptions<Transaction, E extends Execution> {
  /** What `sqlTaskRepository` returns, or another that keeps timers. */
  readonly repository: TimedTaskRepository<NoInfer<Transaction>, E>
  readonly transactions: TransactionSource<Transaction>
  /** Wakes the scheduler when another process has changed timers: `pgListener`, `sqliteListener`. */
  readonly notifier?: TaskNotifier
  /**
   * Looks for timers at least so often, in milliseconds, 100 to 600 000: what no notifier tells is found then, and a clock that was set.
   * Default 10 000.
   */
  readonly pollIntervalMs?: number
  /**
   * How long the database may take for each step of a transaction, in milliseconds, 100 to one day. Default 30 000. What takes longer is given up
   * with its connection, and looked at again.
   */
  readonly statementTimeoutMs?: number
  readonly listener?: PeriodicListener
  /** The time of this process, for pauses. What is due is due by the database's clock. */
  readonly clock?: Clock
}

const names: Record<keyof PeriodicSchedulerOptions<unknown, Execution>, true> = {
  repository: true,
  transactions: true,
  notifier: true,
  pollIntervalMs: true,
  statementTimeoutMs: true,
  listener: true,
  clock: true,
}

const firstPauseMs = 1_000
const longestPauseMs = 60_000
const busyPauseMs = 25
/** How long the database may take for the transaction that a stop finds under way, in milliseconds. */
const leaveMs = 10_000
/** Of one timer, in one transaction: others are kept waiting no longer than that takes. */
const occurrencesAtOnce = 100
/** A notifier that cannot tell what has changed calls for every commit of others. */
const atMostEveryMs = 1_000

/** A timer that could not be fired: how often by now, and until when it is let be. */
interface Backoff {
  readonly count: number
  readonly untilMs: number
}

/**
 * Submits the tasks of timers when they are due. Any number of schedulers may run on one database: a timer is fired by whoever locks its row
 * first, in one transaction that pushes the task and moves the timer on, so that a crash at any moment leaves both or neither.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * await using scheduler = new PeriodicScheduler({ repository: tasks, transactions })
 * await scheduler.start()
 */
export class PeriodicScheduler<Transaction, E extends Execution = Execution> implements AsyncDisposable {
  readonly #transactions: LimitedTransactions<Transaction>
  readonly #repository: TimedTaskRepository<Transaction, E>
  readonly #fireNext: (
    transaction: Transaction,
    without: ReadonlySet<string>,
    at: (timer: TimerKey) => void,
    most: number,
  ) => unknown
  readonly #pollIntervalMs: number
  readonly #listener: PeriodicListener
  readonly #notifier: TaskNotifier | undefined
  readonly #clock: Clock
  readonly #wake: Wake
  readonly #backingOff = new Map<string, Backoff>()
  /** Timers that have had their turn and are due still: the others come first. */
  readonly #served = new Set<string>()
  #running: Promise<void> | undefined
  #listening: AsyncDisposable | undefined
  #stopping = false
  #failures = 0
  #zonesTold = false
  #lookedMs = -Infinity

  constructor(options: PeriodicSchedulerOptions<Transaction, E>) {
    checkOptions('a periodic scheduler', options, names)
    const { repository, transactions, notifier, pollIntervalMs = 10_000, listener = {}, clock = systemClock } = options
    const { statementTimeoutMs } = options
    checkInteger('pollIntervalMs', pollIntervalMs, 100, 600_000)
    this.#transactions = limitTransactions(repository, transactions, {
      ...(statementTimeoutMs !== undefined && { statementTimeoutMs }),
    })
    this.#repository = repository
    this.#fireNext = bindSteps(repository, fireNext)
    this.#pollIntervalMs = pollIntervalMs
    this.#listener = listener
    this.#notifier = notifier
    this.#clock = clock
    this.#wake = new Wake(clock)
  }

  /**
   * Begins to fire what is due.
   *
   * @throws TaskError LIFECYCLE if it was started before; SCHEMA_MISSING, SCHEMA_OLDER, SCHEMA_NEWER; DATABASE_UNAVAILABLE
   */
  async start(): Promise<void> {
    if (this.#running || this.#stopping)
      throw new TaskError('LIFECYCLE', 'A scheduler starts once: make a new one to start again')
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#running = promise
    try {
      await this.#transactions(async (transaction) => void (await this.#repository.timers.check(transaction)))
      this.#listening = await this.#notifier?.listen({
        onTasks: () => {},
        onActivation: (name) => this.#notified(name),
        onDisconnected: (error) => this.#report(error, undefined),
        onGivenUp: (reason) => this.#report(reason, undefined),
      })
    } catch (error) {
      this.#running = undefined
      // Somebody may be waiting for its end already.
      resolve()
      throw error
    }
    void this.#run().then(resolve)
  }

  /** Timers have changed: looks for what is due now, and not when it meant to. Never lost, whenever it comes. */
  notify(): void {
    this.#wake.wake()
  }

  /** Ends once the transaction that it is in has ended, or after ten seconds. What is due then is left to others, or to the next start. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#wake.wake()
    const unanswered = new TaskError('DATABASE_UNAVAILABLE', 'The scheduler has stopped, and waits for the database no longer')
    const cancel = this.#clock.after(leaveMs, () => this.#transactions.end(unanswered))
    await this.#running
    cancel()
    await this.#listening?.[Symbol.asyncDispose]()
    this.#listening = undefined
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const version = this.#wake.version
      const pauseMs = await this.#look()
      if (pauseMs > 0) await this.#wake.sleep(version, pauseMs)
      // A driver that answers at once is never waited for: a backlog would hold up everything else of the process.
      else await turnOfEventLoop()
    }
  }

  #notified(name: string | undefined): void {
    if (name === timersName || (name === undefined && this.#clock.monotonicMs() >= this.#lookedMs + atMostEveryMs))
      this.#wake.wake()
  }

  /** @returns for how long nothing is to be done, in milliseconds */
  async #look(): Promise<number> {
    const now = this.#clock.monotonicMs()
    this.#lookedMs = now
    const backingOff = [...this.#backingOff].filter(([, { untilMs }]) => untilMs > now)
    let timer: TimerKey | undefined
    try {
      const without = new Set([...backingOff.map(([key]) => key), ...this.#served])
      const fired = (await this.#transactions(async (transaction) => {
        timer = undefined
        return await this.#fireNext(transaction, without, (found) => (timer = found), occurrencesAtOnce)
      })) as FiredSeveral
      this.#failures = 0
      if ('outcome' in fired) {
        if (this.#served.size > 0) {
          this.#served.clear()
          return 0
        }
        if (fired.outcome === 'busy') return busyPauseMs * (1 + Math.random())
        return Math.min(this.#pollIntervalMs, fired.afterMs ?? Infinity, ...backingOff.map(([, { untilMs }]) => untilMs - now))
      }
      this.#backingOff.delete(timerKey(timer!))
      if (isDue(fired.timer)) this.#served.add(timerKey(timer!))
      if (fired.differs) this.#tellZones(fired.differs)
      for (const occurrence of fired.occurrences) this.#notify(() => this.#listener.onFired?.(occurrence))
      return 0
    } catch (error) {
      this.#report(error, timer)
      // The others need not wait for one that cannot be fired: its topic is gone, or its timer is of a later release.
      if (timer) this.#postpone(timer)
      return timer ? 0 : pauseAfter(++this.#failures)
    }
  }

  #postpone(timer: TimerKey): void {
    const count = (this.#backingOff.get(timerKey(timer))?.count ?? 0) + 1
    this.#backingOff.set(timerKey(timer), { count, untilMs: this.#clock.monotonicMs() + pauseAfter(count) })
  }

  #report(error: unknown, timer: TimerKey | undefined): void {
    const { onError } = this.#listener
    if (onError) this.#notify(() => onError.call(this.#listener, error, timer))
    else
      console.error(
        timer ? `Timer "${timer.id}" of "${timer.scope}" could not be fired:` : 'Timers could not be looked for:',
        error,
      )
  }

  #tellZones(event: ZonesDiffer): void {
    const { onZonesDiffer } = this.#listener
    if (onZonesDiffer) this.#notify(() => onZonesDiffer.call(this.#listener, event))
    else if (!this.#zonesTold) {
      const { timer, occurrence, data = 'of an unknown release' } = event
      console.error(
        `Timer "${timer.id}" of "${timer.scope}" has the occurrence ${occurrence.toISOString()}, which the time zone data here (${data}) does not have: run all nodes on one release of it`,
      )
    }
    this.#zonesTold = true
  }

  /** What a listener throws is its own affair. */
  #notify(event: () => void): void {
    try {
      event()
    } catch (error) {
      console.error('A listener has thrown:', error)
    }
  }
}

function isDue({ due, now }: StoredTimer): boolean {
  return due !== null && due <= now
}

function pauseAfter(failures: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1)) * (0.75 + Math.random() / 2)
}
