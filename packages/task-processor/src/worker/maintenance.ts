import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { isTaskError } from '@taskstream/task-api'
import type { Execution, Expiry, FilterState, TaskRepository } from '@taskstream/task-api'
import { every } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { Dispatcher } from '../core/dispatcher.ts'
import type { Leftovers } from '../batches/leftovers.ts'
import { Condition } from '../core/listener.ts'
import type { SafeListener } from '../core/listener.ts'
import type { ProcessOptions } from './process-options.ts'

/** Tasks expired, or purged, in one transaction; a dead owner's thousands go in several. */
const chunkSize = 1_000

/** Owners that have been silent for a day are not coming back under their name and incarnation. */
const forgottenAfterMs = 86_400_000
const forgetEveryMs = 600_000

/** How long statistics may take: the whole of a table may be read for them. */
const refreshTimeoutMs = 3_600_000

export interface MaintenanceOptions<Transaction> {
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly listener: SafeListener
  readonly clock: Clock
  readonly intervalMs: number
  readonly leaseMs: number
  /** What becomes of the tasks of dead owners. */
  readonly expireTo: 'ready' | 'expired'
  /** How often the planner's statistics are renewed, if ever. */
  readonly refreshIntervalMs: number | undefined
  readonly leftovers: Leftovers<Transaction>
  /** Tasks of these topics are ready again. */
  readonly onReady: (topics: readonly string[]) => void
  /** How long the ended tasks of each topic are kept. */
  readonly retained: () => Iterable<{
    readonly topic: string
    readonly retainMs: NonNullable<ProcessOptions<Transaction>['retainMs']>
  }>
}

/**
 * Takes the tasks of dead owners from them, and purges what is old, now and then; every node does, and any one is enough. What batches of its own
 * have left behind, only the node itself can hand back.
 */
export class Maintenance<Transaction> {
  readonly #options: MaintenanceOptions<Transaction>
  readonly #condition: Condition
  #end: (() => void) | undefined
  #running: Promise<void> | undefined
  // mutants: equivalent literal, a start says so
  #stopped = false
  #forgetAt = -Infinity
  #refreshAt = -Infinity

  constructor(options: MaintenanceOptions<Transaction>) {
    this.#options = options
    this.#condition = new Condition(options.listener, 'maintenance')
  }

  start(): void {
    this.#stopped = false
    const run = (): void => {
      this.#running ??= this.#run().finally(() => (this.#running = undefined))
    }
    run()
    this.#end = every(this.#options.clock, this.#options.intervalMs, run)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#end?.()
    await this.#running
  }

  async #run(): Promise<void> {
    const { repository, dispatcher, leaseMs, expireTo, leftovers, onReady } = this.#options
    try {
      await leftovers.tidy()
      for (let more = true; more && !this.#stopped;) {
        const { expired, ready, failed, topics } = await dispatcher.once<Expiry>((transaction) =>
          repository.expire(transaction, { olderThanMs: leaseMs, then: expireTo, limit: chunkSize }),
        )
        if (topics.length > 0) onReady(topics)
        more = expired + ready + failed >= chunkSize
        // mutants: equivalent condition:true, a turn more
        if (more) await turnOfEventLoop()
      }
      await this.#purge()
      await this.#forget()
      await this.#refresh()
      this.#condition.worked()
    } catch (error) {
      this.#condition.failed(error)
    }
  }

  /** What a forgotten owner held is as good as expired: nobody needs its row for that. */
  async #forget(): Promise<void> {
    const { repository, dispatcher, leaseMs, clock } = this.#options
    if (clock.monotonicMs() < this.#forgetAt) return
    await dispatcher.once<number>((transaction) => repository.purgeOwners(transaction, Math.max(forgottenAfterMs, leaseMs * 2)))
    this.#forgetAt = clock.monotonicMs() + forgetEveryMs
  }

  async #refresh(): Promise<void> {
    const { repository, dispatcher, clock, refreshIntervalMs } = this.#options
    if (refreshIntervalMs === undefined || clock.monotonicMs() < this.#refreshAt) return
    this.#refreshAt = clock.monotonicMs() + refreshIntervalMs
    await dispatcher.once<void>((transaction) => repository.refresh(transaction), { statementTimeoutMs: refreshTimeoutMs })
  }

  /** A topic that is not known yet, or not any more, keeps no other from being purged: its polls tell of it. */
  async #purge(): Promise<void> {
    for (const { topic, retainMs } of this.#options.retained()) {
      try {
        for (const [state, olderThanMs] of Object.entries(retainMs))
          await this.#purgeState(topic, state as FilterState, olderThanMs)
      } catch (error) {
        if (!isTaskError(error, 'TOPIC_UNKNOWN')) throw error
      }
    }
  }

  /** One chunk of one state of one topic in each transaction: nobody waits for a purge. */
  async #purgeState(topic: string, state: FilterState, olderThanMs: number): Promise<void> {
    const { repository, dispatcher } = this.#options
    for (let purged = chunkSize; purged >= chunkSize && !this.#stopped;) {
      purged = await dispatcher.once<number>((transaction) =>
        repository.purge(transaction, topic, { states: [state], olderThanMs, limit: chunkSize }),
      )
      // Nor does the event loop, which a driver that answers at once would hold up.
      // mutants: equivalent condition:true, a turn more
      if (purged >= chunkSize) await turnOfEventLoop()
    }
  }
}
