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
  /** Called when the database was put back to an earlier moment, so that this owner may hold tasks that it does not know. */
  readonly onPutBack: () => void
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
      if (await beat(this.#options, () => this.#isStopped)) this.#options.onPutBack()
      this.#condition.worked()
      this.#lease.renew(sentMs)
    } catch (error) {
      this.#condition.failed(error)
      // The failed beat may have used a dead connection, so another beat follows at once.
      if (again && isPassing(error)) await this.#beat(false)
    }
  }
}

/** @returns whether the database was put back to an earlier moment */
async function beat<Transaction>(
  { repository, dispatcher, statementTimeoutMs }: HeartbeatOptions<Transaction>,
  isStopped: () => boolean,
): Promise<boolean> {
  try {
    return await dispatcher.once<boolean>((transaction) => repository.heartbeat(transaction), {
      single: true,
      statementTimeoutMs,
    })
  } catch (error) {
    // The owner was removed as dead. Its tasks are gone, and it registers again.
    if (!isTaskError(error, 'OWNER_UNKNOWN')) throw error
    // The owner's own node has removed it.
    if (isStopped()) return false
    await dispatcher.once<boolean>((transaction) => repository.register(transaction), { statementTimeoutMs })
    return false
  }
}
