/** Checks that hold whenever all is at rest, that is, when nobody waits for anything but a handler or the clock. */
import { leaseMs } from './node-database.ts'
import type { NodeDatabase } from './node-database.ts'
import { name } from './node-ledger.ts'
import type { Hold, Ledger, NodeBatch, Party } from './node-ledger.ts'
import { isWaitedFor } from './node-stuck.ts'

/** The longest pause of a node after a failure. */
const longestPauseMs = 20_000
/** How often, at least, a node looks for due tasks, and for room of which nothing has told it. */
const lookEveryMs = 1_000

export class AtRest {
  readonly #ledger: Ledger
  readonly #database: NodeDatabase
  /** Since when each node could have polled each task. */
  readonly #waiting: Map<string, number> = new Map()

  constructor(ledger: Ledger, database: NodeDatabase) {
    this.#ledger = ledger
    this.#database = database
  }

  /** Forgets how long tasks have waited, as no node could poll while the process stood still. */
  forget(): void {
    this.#waiting.clear()
  }

  look(parties: readonly Party[]): void {
    for (const batch of this.#ledger.batches) {
      this.#checkAsked(batch)
      this.#checkWritten(batch)
    }
    this.#checkWaiting(parties)
  }

  /** Handlers are asked to let go when it is time, and not before. */
  #checkAsked({ party, call, startedMs, isStuck, isFormer }: NodeBatch): void {
    if (!call || call.endedMs !== undefined) return
    const ledger = this.#ledger
    const { timeoutMs = Infinity } = ledger
    const now = ledger.clock.monotonicMs()
    const check = (isRight: boolean, what: string): void =>
      ledger.check(isRight, () => `the handler of ${name(call.tasks[0]!)} ${what}`)
    const code = call.context.aborted?.code
    const isLate = now >= startedMs + timeoutMs
    const isStopped = party.stops.some(({ atMs, graceMs }) => now > atMs + graceMs)
    check(!isLate || code !== undefined, 'is late, and not told')
    check(!isStopped || isStuck || isFormer || code !== undefined, 'is not told of the stop')
    check(code !== 'TASK_TIMEOUT' || isLate, 'is told that it is late')
    check(code !== 'SHUTDOWN' || party.hasStopped, 'is told of a stop')
    check(code !== 'LEASE_LOST' || party.losses > 0, 'is told that its lease is lost')
    check(!ledger.isTaken({ call, startedMs }) || isStuck || isFormer, 'is stuck, and nobody is told')
  }

  /** What was decided is written at once, where nothing went wrong. A node that has stopped waits for nobody, and others take its tasks later. */
  #checkWritten({ party, call, holds }: NodeBatch): void {
    if (call?.endedMs === undefined || party.state === 'stopped' || !this.#isWell(party)) return
    for (const hold of holds)
      this.#ledger.check(!this.#ledger.isOpen(hold), () => `the handler of ${name(hold.task)} has ended, and it is held`)
  }

  /** No task waits for long that a node could poll. */
  #checkWaiting(parties: readonly Party[]): void {
    const { rows, clock, setting } = this.#ledger
    const now = clock.monotonicMs()
    const locked = [...this.#ledger.open].filter(({ isLocked }) => isLocked).map(({ task }) => task.sequence)
    const open = rows.open(clock.now().getTime(), new Set(locked))
    const waiting = parties
      .filter((party) => this.#isFree(party))
      .flatMap(({ index }) => open.map(({ sequence }) => `${sequence} for node ${index}`))
    for (const one of this.#waiting.keys()) if (!waiting.includes(one)) this.#waiting.delete(one)
    for (const one of waiting) {
      const since = this.#waiting.get(one) ?? now
      this.#waiting.set(one, since)
      this.#ledger.check(now - since <= Math.max(lookEveryMs, setting.idleMs), () => `${one} waits since ${since}, it is ${now}`)
    }
  }

  #isWell({ troubleMs }: Party): boolean {
    return this.#database.isWell && !this.#database.isKept && this.#ledger.clock.monotonicMs() - troubleMs > longestPauseMs
  }

  /** Whether nothing keeps a node from polling. */
  #isFree(party: Party): boolean {
    const ledger = this.#ledger
    if (!party.isOpen || !this.#isWell(party) || ledger.clock.monotonicMs() - party.beatMs > leaseMs) return false
    const isHeld = (hold: Hold): boolean => ledger.isOpen(hold)
    const isRunning = ({ call }: NodeBatch): boolean => call !== undefined && call.endedMs === undefined
    const own = [...ledger.batches].filter((batch) => batch.party === party && (isRunning(batch) || batch.holds.some(isHeld)))
    const isLeft = (batch: NodeBatch): boolean => batch.isStuck && !batch.holds.some(isHeld) && !isWaitedFor(batch)
    const current = own.filter(({ isFormer }) => !isFormer)
    const held = own.filter((batch) => !isLeft(batch)).length
    const { slots = Infinity } = ledger.setting
    return (
      held < slots &&
      current.filter((batch) => !isLeft(batch)).length < ledger.concurrency &&
      current.filter(isLeft).length < ledger.concurrency
    )
  }
}
