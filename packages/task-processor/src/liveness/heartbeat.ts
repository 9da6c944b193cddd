import { isPassing, isTaskError } from '@taskstream/task-api'
import type { Execution, TaskRepository } from '@taskstream/task-api'
import { every } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { Dispatcher } from '../core/dispatcher.ts'
import { Lease } from './lease.ts'
import type { Beating, LeaseOptions } from './lease.ts'
import { Condition } from '../core/listener.ts'

export interface HeartbeatOptions<Transaction> extends LeaseOptions {
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly clock: Clock
  readonly intervalMs: number
  /** How long the database may take for a step of a beat. */
  readonly statementTimeoutMs: number
}

/** Sends an owner's heartbeats from the event loop on which its handlers run. One heartbeat covers all tasks of the owner. */
export class Heartbeat<Transaction> implements Beating {
  readonly #options: HeartbeatOptions<Transaction>
  readonly #lease: Lease
  readonly #condition: Condition
  #end: (() => void) | undefined
  #beating: Promise<void> | undefined
  #isStopped = false

  constructor(options: HeartbeatOptions<Transaction>) {
    this.#options = options
    this.#lease = new Lease(options)
    this.#condition = new Condition(options.listener, 'heartbeat')
  }

  get holds(): boolean {
    return this.#lease.holds
  }

  async start(registeredMs: number): Promise<void> {
    const { clock, intervalMs } = this.#options
    this.#isStopped = false
    this.#lease.renew(registeredMs)
    this.#end = every(clock, intervalMs, () => {
      // While a beat hangs, no other begins, but the lease is still checked.
      void this.holds
      this.#beating ??= this.#beat().finally(() => (this.#beating = undefined))
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#end?.()
    await this.#beating
  }

  async #beat(again = true): Promise<void> {
    const { clock } = this.#options
    const sentMs = clock.monotonicMs()
    try {
      const before = await beat(this.#options, () => this.#isStopped)
      if (before) this.#lease.remembered(before.getTime())
      this.#condition.worked()
      this.#lease.renew(sentMs)
    } catch (error) {
      this.#condition.failed(error)
      // The failed beat may have used a dead connection, so another beat follows at once.
      if (again && isPassing(error)) await this.#beat(false)
    }
  }
}

/** @returns when the beat before was. Undefined if the owner had to register again */
async function beat<Transaction>(
  { repository, dispatcher, statementTimeoutMs }: HeartbeatOptions<Transaction>,
  isStopped: () => boolean,
): Promise<Date | undefined> {
  try {
    return await dispatcher.once<Date>((transaction) => repository.heartbeat(transaction), { single: true, statementTimeoutMs })
  } catch (error) {
    // The owner was removed as dead. Its tasks are gone, and it registers again.
    if (!isTaskError(error, 'OWNER_UNKNOWN')) throw error
    // The owner's own node has removed it.
    if (isStopped()) return undefined
    await dispatcher.once<boolean>((transaction) => repository.register(transaction), { statementTimeoutMs })
    return undefined
  }
}
