import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { isTaskError } from '@taskstream/task-api'
import type { Execution, Expiry, FilterState, TaskRepository, TopicLimits } from '@taskstream/task-api'
import { every } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { Dispatcher } from '../core/dispatcher.ts'
import type { Leftovers } from '../batches/leftovers.ts'
import { Condition } from '../core/listener.ts'
import type { SafeListener } from '../core/listener.ts'
import type { ProcessOptions } from './process-options.ts'
import type { TakenAway } from './taken-away.ts'

/** How many tasks one transaction expires or purges at most. */
const chunkSize = 1_000

/** An owner that has been silent for a day does not come back under its name and incarnation. */
const forgottenAfterMs = 86_400_000
const forgetEveryMs = 600_000
const forgetAgainMs = 60_000

/** How long a refresh of statistics may take, as it may read whole tables. */
const refreshTimeoutMs = 3_600_000

export interface MaintenanceOptions<Transaction> {
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly listener: SafeListener
  readonly clock: Clock
  readonly intervalMs: number
  /** When it runs for the second time, after that at the start. */
  readonly firstMs: number
  readonly leaseMs: number
  /** The state that tasks of dead owners get. */
  readonly expireTo: 'ready' | 'expired'
  /** How long attempts that did not succeed are kept. */
  readonly keepAttemptsMs: number
  readonly keepAuditMs: number
  /** How often the planner's statistics are refreshed. Undefined: never. */
  readonly refreshIntervalMs: number | undefined
  readonly leftovers: Leftovers<Transaction>
  readonly takenAway: TakenAway<Transaction>
  /** Called with the topics that have tasks ready again. */
  readonly onReady: (topics: readonly string[]) => void
  /** What keeps the limits of the topics. */
  readonly limited: () => Iterable<Limited>
  /** How long the ended tasks of each topic are kept. */
  readonly retained: () => Iterable<{
    readonly topic: string
    readonly retainMs: NonNullable<ProcessOptions<Transaction>['retainMs']>
  }>
}

/** What keeps the limits of a topic. */
interface Limited {
  readonly topic: string
  limit(limits: TopicLimits | undefined): void
  giveSlots(): Promise<void>
}

/**
 * Expires the tasks of dead owners, and purges old tasks, at regular intervals. Every node does so, and one would be enough. Each node also hands back
 * its own left-over tasks, which no other node can, and tells its handlers if their tasks were taken away.
 */
export class Maintenance<Transaction> {
  readonly #options: MaintenanceOptions<Transaction>
  readonly #condition: Condition
  #end: (() => void) | undefined
  #running: Promise<void> | undefined
  // mutants: equivalent literal, a start sets it
  #stopped = false
  #forgetAt = -Infinity
  /** Why it could not be done when it was tried last. */
  #forgetError: unknown
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
    const { clock, intervalMs, firstMs } = this.#options
    this.#end = every(clock, intervalMs, run, firstMs)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#end?.()
    await this.#running
  }

  /** One part that fails must not keep the others from their work, unless the database is away. */
  async #run(): Promise<void> {
    const parts = [this.#expire, this.#purge, this.#limit, this.#forget, this.#refresh]
    const errors: unknown[] = []
    for (const part of parts) {
      try {
        await part.call(this)
      } catch (error) {
        errors.push(error)
        if (isTaskError(error, 'DATABASE_UNAVAILABLE')) break
      }
    }
    if (errors.length > 0) this.#condition.failed(errors[0])
    else this.#condition.worked()
  }

  /** Takes tasks from dead owners, and gives back and tells of this node's own. */
  async #expire(): Promise<void> {
    const { repository, dispatcher, leaseMs, expireTo, leftovers, takenAway, onReady } = this.#options
    await leftovers.tidy()
    await takenAway.look()
    for (let more = true; more && !this.#stopped;) {
      const { expired, ready, failed, topics } = await dispatcher.once<Expiry>((transaction) =>
        repository.expire(transaction, { olderThanMs: leaseMs, then: expireTo, limit: chunkSize }),
      )
      if (topics.length > 0) onReady(topics)
      more = expired + ready + failed >= chunkSize
      // mutants: equivalent condition:true, one more turn of the event loop
      if (more) await turnOfEventLoop()
    }
  }

  /** Tells the loops which limits their topics have, as others may have changed them. */
  async #limit(): Promise<void> {
    const { repository, dispatcher, leaseMs, limited } = this.#options
    const limits = await dispatcher.once<ReadonlyMap<string, TopicLimits>>((transaction) => repository.limits(transaction), {
      single: true,
    })
    for (const manager of limited()) manager.limit(limits.get(manager.topic))
    if (limits.size > 0) await dispatcher.once<number>((transaction) => repository.freeSlots(transaction, leaseMs))
    for (const manager of limited()) {
      await manager.giveSlots()
    }
  }

  /** Removes the rows of owners that are long dead, whose tasks expire without these rows, old attempts, and what people did long ago. */
  async #forget(): Promise<void> {
    const { repository, dispatcher, leaseMs, clock } = this.#options
    if (clock.monotonicMs() < this.#forgetAt) {
      if (this.#forgetError !== undefined) throw this.#forgetError
      return
    }
    try {
      await dispatcher.once<number>((transaction) => repository.purgeOwners(transaction, Math.max(forgottenAfterMs, leaseMs * 2)))
      await this.#purgeHistory()
      this.#forgetError = undefined
      this.#forgetAt = clock.monotonicMs() + forgetEveryMs
    } catch (error) {
      // It may have waited long for a lock. If each run did so, tasks of dead owners would wait as long.
      this.#forgetError = error
      this.#forgetAt = clock.monotonicMs() + forgetAgainMs
      throw error
    }
  }

  async #purgeHistory(): Promise<void> {
    const { repository, dispatcher, keepAttemptsMs, keepAuditMs } = this.#options
    await this.#inChunks(() =>
      dispatcher.once<number>((transaction) =>
        repository.purgeAttempts(transaction, { olderThanMs: keepAttemptsMs, limit: chunkSize }),
      ),
    )
    await this.#inChunks(() =>
      dispatcher.once<number>((transaction) =>
        repository.purgeActions(transaction, { olderThanMs: keepAuditMs, limit: chunkSize }),
      ),
    )
  }

  async #refresh(): Promise<void> {
    const { repository, dispatcher, clock, refreshIntervalMs } = this.#options
    if (refreshIntervalMs === undefined || clock.monotonicMs() < this.#refreshAt) return
    this.#refreshAt = clock.monotonicMs() + refreshIntervalMs
    await dispatcher.once<void>((transaction) => repository.refresh(transaction), { statementTimeoutMs: refreshTimeoutMs })
  }

  /** Purges old tasks of each topic. One that fails must not keep others from being purged. Of an unknown topic the polls tell. */
  async #purge(): Promise<void> {
    const errors: unknown[] = []
    for (const { topic, retainMs } of this.#options.retained()) {
      try {
        for (const [state, olderThanMs] of Object.entries(retainMs))
          await this.#purgeState(topic, state as FilterState, olderThanMs)
      } catch (error) {
        if (isTaskError(error, 'DATABASE_UNAVAILABLE')) throw error
        if (!isTaskError(error, 'TOPIC_UNKNOWN')) errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }

  /** Purges one state of a topic in chunks. Each chunk has its own transaction, so that nobody waits long for a purge. */
  async #purgeState(topic: string, state: FilterState, olderThanMs: number): Promise<void> {
    const { repository, dispatcher } = this.#options
    await this.#inChunks(() =>
      dispatcher.once<number>((transaction) =>
        repository.purge(transaction, topic, { states: [state], olderThanMs, limit: chunkSize }),
      ),
    )
  }

  /** Repeats a purge until it has found less than a whole chunk. */
  async #inChunks(purge: () => Promise<number>): Promise<void> {
    for (let purged = chunkSize; purged >= chunkSize && !this.#stopped;) {
      purged = await purge()
      // A synchronous driver would block the event loop between chunks.
      // mutants: equivalent condition:true, one more turn of the event loop
      if (purged >= chunkSize) await turnOfEventLoop()
    }
  }
}
