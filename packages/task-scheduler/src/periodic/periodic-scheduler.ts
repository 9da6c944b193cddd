import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { checkInteger, checkOptions, TaskError, timerKey, timersName } from '@taskstream/task-api'
import type {
  DeclaredTimers,
  Execution,
  ReportAnswer,
  StoredTimer,
  TaskNotifier,
  TimedTaskRepository,
  TimerKey,
  TransactionSource,
} from '@taskstream/task-api'
import { keepsReports, limitTransactions, systemClock, Wake } from '@taskstream/task-processor'
import type { Clock, LimitedTransactions } from '@taskstream/task-processor'
import { fireNext } from './fire.ts'
import type { FiredOccurrence, FiredSeveral } from './fire.ts'
import { SchedulerReporting } from './scheduler-reporting.ts'
import { bindSteps } from './steps.ts'
import type { ZonesDiffer } from './zones-differ.ts'

/** Events of a scheduler. */
export interface PeriodicListener {
  /** Called when an occurrence was due, after its transaction was committed. */
  onFired?(event: FiredOccurrence): void
  /**
   * Called when another node has found an occurrence that this node would not have found, as their time zone data differs. The occurrence is submitted
   * as it was found. Without this function, the scheduler writes one line to the console.
   */
  onZonesDiffer?(event: ZonesDiffer): void
  /**
   * Called when somebody has asked this scheduler to fire no timers (`repository.quiet`), or to go on. Then it catches up as timers say. Other schedulers
   * fire meanwhile.
   */
  onQuiet?(event: { readonly quiet: boolean }): void
  /** Called after an error, with the timer that could not be fired, if any. The scheduler tries again. Default: a line on the console. */
  onError?(error: unknown, timer?: TimerKey): void
}

export interface PeriodicSchedulerOptions<Transaction, E extends Execution> {
  /** A repository that keeps timers: `sqlTaskRepository` returns one. */
  readonly repository: TimedTaskRepository<NoInfer<Transaction>, E>
  readonly transactions: TransactionSource<Transaction>
  /** Wakes the scheduler when another process has changed timers: `pgListener`, `sqliteListener`. */
  readonly notifier?: TaskNotifier
  /**
   * How often the scheduler looks for due timers at least, in milliseconds, 100 to 600 000. Default 10 000. A look also finds changes that no notifier
   * reports, and a clock that was set.
   */
  readonly pollIntervalMs?: number
  /**
   * How long the database may take for each step of a transaction, in milliseconds, 100 to one day. Default 30 000. A transaction that takes longer is
   * given up together with its connection, and repeated.
   */
  readonly statementTimeoutMs?: number
  readonly listener?: PeriodicListener
  /** The timers that this process has declared, which it tells the others of its application: a stream removes none that a living process declares. */
  readonly declares?: DeclaredTimers
  /** The clock of this process, for pauses. The database's clock decides which timers are due. */
  readonly clock?: Clock
}

const names: Record<keyof PeriodicSchedulerOptions<unknown, Execution>, true> = {
  repository: true,
  transactions: true,
  notifier: true,
  pollIntervalMs: true,
  statementTimeoutMs: true,
  listener: true,
  declares: true,
  clock: true,
}

const firstPauseMs = 1_000
const longestPauseMs = 60_000
const busyPauseMs = 25
/** How long the database may take for the transaction that a stop finds under way, in milliseconds. */
const leaveMs = 10_000
/** How many occurrences of one timer a transaction submits at most. Other timers wait no longer than that. */
const occurrencesAtOnce = 100
/** The pause between two looks that a notifier causes if it does not say what has changed: it may call after every commit. */
const atMostEveryMs = 1_000

/** How often a timer could not be fired, and until when it is left out. */
interface Backoff {
  readonly count: number
  readonly untilMs: number
}

/**
 * Submits the tasks of timers when they are due. Any number of schedulers may run on one database: the scheduler that locks a timer's row first fires
 * the timer. One transaction pushes the task and moves the timer on, so that a crash at any moment leaves both or neither.
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
  readonly #reporting: SchedulerReporting
  readonly #backingOff = new Map<string, Backoff>()
  /** Timers that were fired and are still due. Other due timers come first. */
  readonly #served = new Set<string>()
  #running: Promise<void> | undefined
  #listening: AsyncDisposable | undefined
  #stopping = false
  /** Resolves when a stop is asked for. */
  readonly #stopped = Promise.withResolvers<undefined>()
  #failures = 0
  #zonesTold = false
  #lookedMs = -Infinity

  constructor(options: PeriodicSchedulerOptions<Transaction, E>) {
    checkOptions('a periodic scheduler', options, names)
    const { repository, transactions, notifier, pollIntervalMs = 10_000, listener = {}, clock = systemClock } = options
    const { statementTimeoutMs, declares } = options
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
    this.#reporting = new SchedulerReporting({
      send: keepsReports(repository)
        ? (report) => this.#transactions(async (transaction) => (await repository.report(transaction, report)) as ReportAnswer)
        : undefined,
      clock,
      declares,
      onQuiet: (quiet) => {
        this.#notify(() => listener.onQuiet?.({ quiet }))
        this.#wake.wake()
      },
      onError: (error) => this.#report(error, undefined, 'The scheduler could not tell of itself:'),
    })
  }

  /**
   * Begins to fire due timers.
   *
   * @throws TaskError LIFECYCLE if the scheduler was started before; SCHEMA_MISSING, SCHEMA_OLDER, SCHEMA_NEWER if the tables do not fit;
   * DATABASE_UNAVAILABLE
   */
  async start(): Promise<void> {
    if (this.#running || this.#stopping)
      throw new TaskError('LIFECYCLE', 'A scheduler starts once: make a new one to start again')
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#running = promise
    try {
      await this.#transactions(async (transaction) => void (await this.#repository.timers.check(transaction)))
      const listening = this.#notifier?.listen({
        onTasks: () => {},
        onActivation: (name) => this.#notified(name),
        onDisconnected: (error) => this.#report(error, undefined),
        onGivenUp: (reason) => this.#report(reason, undefined),
      })
      this.#listening = await Promise.race([listening, this.#stopped.promise])
      // A stop does not wait for a connection that may never be made. If it is made later, it is closed.
      if (!this.#listening) listening?.then((late) => late[Symbol.asyncDispose]()).catch(() => {})
    } catch (error) {
      this.#running = undefined
      // A concurrent `stop` may be waiting for the end.
      resolve()
      throw error
    }
    this.#reporting.begin()
    void this.#run().then(resolve)
  }

  /** Looks for due timers now, as timers have changed. A call is never lost, whatever the scheduler is doing. */
  notify(): void {
    this.#wake.wake()
  }

  /** Stops after the current transaction, or after ten seconds. Occurrences that are due later are left to other schedulers, or to the next start. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#stopped.resolve(undefined)
    this.#wake.wake()
    const unanswered = new TaskError('DATABASE_UNAVAILABLE', 'The scheduler has stopped, and waits for the database no longer')
    const cancel = this.#clock.after(leaveMs, () => this.#transactions.end(unanswered))
    await this.#running
    await this.#reporting.stop()
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
      const pauseMs = this.#reporting.isQuiet ? this.#pollIntervalMs : await this.#look()
      if (pauseMs > 0) await this.#wake.sleep(version, pauseMs)
      // A synchronous driver never yields to the event loop, so a backlog would hold up everything else in the process.
      else await turnOfEventLoop()
    }
  }

  #notified(name: string | undefined): void {
    if (name === timersName || (name === undefined && this.#clock.monotonicMs() >= this.#lookedMs + atMostEveryMs))
      this.#wake.wake()
  }

  /** Fires one due timer, if any. @returns the pause until the next look, in milliseconds */
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
      this.#reporting.looked('outcome' in fired ? undefined : timer, backingOff.length === 0)
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
      this.#reporting.failed(error, timer)
      this.#report(error, timer)
      // Other timers need not wait for a timer that cannot be fired, as its topic is gone or its expression is of a later release.
      if (timer) this.#postpone(timer)
      return timer ? 0 : pauseAfter(++this.#failures)
    }
  }

  #postpone(timer: TimerKey): void {
    const count = (this.#backingOff.get(timerKey(timer))?.count ?? 0) + 1
    this.#backingOff.set(timerKey(timer), { count, untilMs: this.#clock.monotonicMs() + pauseAfter(count) })
  }

  #report(error: unknown, timer: TimerKey | undefined, otherwise = 'Timers could not be looked for:'): void {
    const { onError } = this.#listener
    if (onError) this.#notify(() => onError.call(this.#listener, error, timer))
    else console.error(timer ? `Timer "${timer.id}" of "${timer.scope}" could not be fired:` : otherwise, error)
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

  /** Calls the listener. An error of the listener must not stop the scheduler. */
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
