/** Notes who holds and handles each task, and what may become of it. Commits and handlers are its only sources. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { Decisions, HandlerContext } from '@taskstream/task-processor'
import type { AnyTransaction } from '../subject.ts'
import type { NodeClock } from './node-clock.ts'
import type { NodeRows } from './node-rows.ts'
import type { NodeSetting } from './node-schedule.ts'

/** What the ledger knows of one node. */
export interface Party {
  readonly index: number
  readonly owner: string
  state: 'running' | 'stopped'
  /** Whether the topic may be polled: it was not stopped, or was started since. */
  polls: boolean
  /** Whether the topic was started, and no stop was asked for since. */
  isOpen: boolean
  hasStopped: boolean
  /** How often the topic was started or stopped. */
  changes: number
  /** The stops of the topic since it was last started. */
  stops: { readonly atMs: number; readonly graceMs: number; readonly abortMs: number }[]
  /** When the last heartbeat was sent. */
  sentMs: number
  /** When the last heartbeat was sent that was answered. */
  beatMs: number
  /** When the answer to a heartbeat last came. */
  answeredMs: number
  /** `beatMs` before that answer. In the millisecond of the answer, the node may not know of it yet. */
  earlierMs: number
  /** How often it has lost its lease. */
  losses: number
  /** How many of its transactions have gone wrong, and when the last did. */
  troubles: number
  troubleMs: number
}

/** A batch that a node has begun to handle. In a buffer, it waits until a handler is called with it. */
export interface NodeBatch {
  readonly party: Party
  readonly holds: readonly Hold[]
  readonly startedMs: number
  call?: Call
  /** Whether its node has said that its handler is stuck. */
  isStuck: boolean
  /** Whether it belongs to a run of the topic that has ended. */
  isFormer: boolean
}

/** One call of a handler. */
export interface Call {
  readonly batch: NodeBatch
  readonly tasks: readonly HeldTask[]
  readonly context: HandlerContext<AnyTransaction>
  endedMs?: number
}

/** A task as one poll has brought it, and what is known of it since. */
export interface Hold {
  readonly task: HeldTask
  readonly party: Party
  /** Whether an open transaction holds it. */
  isLocked: boolean
  readonly inTransaction: boolean
  readonly polledMs: number
  /** Whether its node knows that it holds the task. */
  told: boolean
  end?: 'completed' | 'returned'
  /** Whether its node knows that this end is committed. */
  answered: boolean
  /** The number of the fact that its node learned of its end. */
  toldEnd?: number
  batch?: NodeBatch
  /** Whether a `reclaim` was called while it was held. */
  doubted: boolean
  /** How many transactions of its node had failed before. */
  readonly troubles: number
  /** How often its node had lost its lease when the poll was asked for. */
  readonly losses: number
  /** How often the database refused to write it, with an error that does not pass. */
  refused: number
  /** What may be written of it. */
  readonly allowed: Set<string>
}

/** Returns a decision in words, by which the ledger compares decisions. */
export function describe({ state, retryAfterMs, reason }: TaskDecision): string {
  return [retryAfterMs === undefined ? state : `retry after ${retryAfterMs}`, ...(reason ? [reason] : [])].join(' ')
}

export class Ledger {
  readonly rows: NodeRows
  readonly setting: NodeSetting
  readonly clock: NodeClock
  readonly holds: Map<HeldTask, Hold> = new Map()
  /** Holds that have not ended, or of whose end their nodes do not know. */
  readonly open: Set<Hold> = new Set()
  readonly batches: Set<NodeBatch> = new Set()
  /** What each failed check says. */
  readonly wrong: string[] = []
  #facts = 0
  #endedCalls: Call[] = []

  constructor(rows: NodeRows, setting: NodeSetting, clock: NodeClock) {
    this.rows = rows
    this.setting = setting
    this.clock = clock
  }

  /** Returns the number of a new fact. Later facts have greater numbers. */
  next(): number {
    return ++this.#facts
  }

  check(isRight: boolean, what: () => string): void {
    if (!isRight) this.wrong.push(what())
  }

  /** Notes a polled task. A leased one is the node's once the poll is committed, a locked one while its transaction is open. */
  hold(task: HeldTask, party: Party, inTransaction: boolean, losses: number): Hold {
    const { troubles } = party
    const known = { isLocked: inTransaction, told: inTransaction, doubted: false, answered: false }
    const hold: Hold = {
      task,
      party,
      inTransaction,
      polledMs: this.clock.monotonicMs(),
      ...known,
      troubles,
      losses,
      refused: 0,
      allowed: new Set(),
    }
    this.holds.set(task, hold)
    if (inTransaction) this.open.add(hold)
    return hold
  }

  /** Drops holds that have ended with the knowledge of their nodes, and batches of which no hold is left. */
  forget(): void {
    for (const hold of this.open) if (hold.toldEnd !== undefined && !this.isOpen(hold)) this.open.delete(hold)
    for (const batch of this.batches)
      if (batch.call?.endedMs !== undefined && batch.holds.every((hold) => !this.open.has(hold))) this.batches.delete(batch)
  }

  /** Whether the database has the task as held, whether or not its node knows. */
  isOpen({ task, party, inTransaction, isLocked }: Hold): boolean {
    return inTransaction ? isLocked : this.rows.isHeld(task, party.owner)
  }

  openOf(party: Party): Hold[] {
    return [...this.open].filter((hold) => hold.party === party && this.isOpen(hold))
  }

  runningOf(party: Party): NodeBatch[] {
    return [...this.batches].filter(({ party: other, call }) => other === party && call && call.endedMs === undefined)
  }

  /** A node says that it begins to handle a batch. */
  begin(party: Party, tasks: readonly HeldTask[]): NodeBatch {
    const { setting } = this
    const holds = tasks.flatMap((task) => this.holds.get(task) ?? [])
    const batch: NodeBatch = { party, holds, startedMs: this.clock.monotonicMs(), isStuck: false, isFormer: false }
    this.check(holds.length === tasks.length, () => `tasks are handled that nobody polled: ${names(tasks)}`)
    this.check(tasks.length > 0 && tasks.length <= setting.size, () => `a batch of ${tasks.length} is handled`)
    for (const hold of holds) {
      this.check(hold.told && this.isOpen(hold), () => `${name(hold.task)} is handled, but not held`)
      this.check(hold.batch === undefined, () => `${name(hold.task)} is handled twice`)
      hold.batch = batch
    }
    this.batches.add(batch)
    return batch
  }

  /** A handler is called. */
  call(tasks: readonly HeldTask[], context: HandlerContext<AnyTransaction>): Call {
    const batch = this.holds.get(tasks[0]!)!.batch!
    this.check(batch.call === undefined, () => `${names(tasks)} is given to a handler twice`)
    for (const other of this.batches)
      for (const { task, party } of other.call && other.call.endedMs === undefined && !other.isStuck ? other.holds : [])
        for (const { sequence } of tasks)
          this.check(
            task.sequence !== sequence || party !== batch.party || !this.isOpen(this.holds.get(task)!),
            () => `${name(task)} is handled by two at the same time`,
          )
    const call: Call = { batch, tasks, context }
    batch.call = call
    const { buffer, slots = Infinity } = this.setting
    const running = this.runningOf(batch.party)
    const held = running.filter(({ isStuck }) => !isStuck)
    const own = running.filter(({ isFormer }) => !isFormer)
    this.check(held.length <= slots, () => `${held.length} handlers at a time, with ${slots} slots`)
    const some = held.filter(({ isFormer }) => !isFormer)
    this.check(some.length <= this.concurrency, () => `${some.length} handlers at a time`)
    this.check(buffer === undefined || own.length <= buffer.workers, () => `${own.length} workers are busy`)
    return call
  }

  ended(call: Call): void {
    call.endedMs = this.clock.monotonicMs()
    this.#endedCalls.push(call)
  }

  /** How many tasks a node may hold that are not handled. Undefined if it holds as many batches as it may handle. */
  mostAheadOf(party: Party): number | undefined {
    const { concurrency, buffer, slots, mode, order, condition, size } = this.setting
    if (concurrency !== undefined || buffer || slots || mode !== 'leased' || order !== 'fifo' || condition !== 'none')
      return undefined
    // What was handled lately is counted by tenths of a second, of which the last has just begun.
    this.#endedCalls = this.#endedCalls.filter(({ endedMs }) => endedMs! >= this.clock.monotonicMs() - 200)
    const lately = this.#endedCalls.filter(({ batch }) => batch.party === party)
    return Math.max(
      this.concurrency * size,
      lately.reduce((sum, { tasks }) => sum + tasks.length, 0),
    )
  }

  /** Notes that a run of the topic has ended. Handlers that still run belong to no loop. */
  reopen(party: Party): void {
    for (const batch of this.batches) if (batch.party === party) batch.isFormer = true
  }

  /** How long a handler may take. */
  get timeoutMs(): number | undefined {
    const { timeoutMs, mode } = this.setting
    return timeoutMs ?? (mode === 'transactional' ? 10_000 : undefined)
  }

  get concurrency(): number {
    const { concurrency, buffer } = this.setting
    return concurrency ?? (buffer ? buffer.buffer + buffer.workers : 2)
  }

  /** A handler decides. A task that it leaves out fails, or is handed back if the handler was asked to let go. */
  decided({ batch, context }: Call, given: Decisions, early: boolean): void {
    if (this.isTaken(batch)) return
    for (const { task, allowed } of batch.holds) {
      const decision = given.get(task)
      if (decision) allowed.add(describe(decision))
      else allowed.add(context.aborted && !early ? 'returned' : 'failed')
    }
  }

  /** A handler has thrown. The retry policy decides, unless the handler was asked to let go for another reason than its time. */
  threw({ batch, context }: Call): void {
    if (this.isTaken(batch)) return
    const code = context.aborted?.code
    for (const { task, allowed, inTransaction } of batch.holds)
      if (code && code !== 'TASK_TIMEOUT') allowed.add('returned')
      else if (!inTransaction) allowed.add(this.byPolicy(task, code === 'TASK_TIMEOUT'))
  }

  /** Whether its tasks were taken from its handler, which had not ended in time. */
  isTaken({ startedMs, call }: Pick<NodeBatch, 'startedMs' | 'call'>): boolean {
    const { timeoutMs, setting } = this
    const { abortMs } = setting
    const endedMs = call?.endedMs ?? this.clock.monotonicMs()
    return call !== undefined && timeoutMs !== undefined && endedMs >= startedMs + timeoutMs + abortMs
  }

  /** What the policy says of a task whose handler threw, or took too long. */
  byPolicy({ tries }: HeldTask, isTimeout: boolean): string {
    const { retry } = this.setting
    if (retry && tries < retry.tries) return describe(decisionOf(TaskDecision.retry({ afterMs: retry.afterMs }), isTimeout))
    const isExhausted = retry !== undefined && tries > 1 && retry.tries > 1
    const failed = isExhausted && !isTimeout ? TaskDecision.failure().because('tries') : TaskDecision.failure()
    return describe(decisionOf(failed, isTimeout))
  }

  /** Whether a node may write this of a task. */
  mayWrite(hold: Hold, what: string): boolean {
    const { task, batch, allowed, inTransaction, refused, party } = hold
    if (allowed.has(what)) return true
    if (!inTransaction && batch && this.#isTakenOrWaits(batch) && what === this.byPolicy(task, true)) return true
    if (refused > 0 && what === this.byPolicy(task, false)) return true
    if (what === 'failed' && !batch?.call && this.setting.buffer?.pendingOnClose === 'fail') return party.stops.length > 0
    return what === 'returned' && this.#mayReturn(hold)
  }

  /** Whether its tasks were taken from its handler, or may be taken from the buffer in which they have waited for too long. */
  #isTakenOrWaits({ call, startedMs }: NodeBatch): boolean {
    const { timeoutMs = Infinity, setting } = this
    if (call) return this.isTaken({ call, startedMs })
    return this.clock.monotonicMs() >= startedMs + timeoutMs + setting.abortMs
  }

  #mayReturn({ batch, refused, party, losses, polledMs }: Hold): boolean {
    const now = this.clock.monotonicMs()
    // What a stop could not hand back is handed back by the next run of the topic.
    if (refused > 0 || batch?.isFormer) return true
    if (batch && !batch.call) {
      // In a buffer, a batch that is asked to let go is handed back unhandled.
      const { timeoutMs = Infinity, setting } = this
      const { buffer } = setting
      if (now >= batch.startedMs + timeoutMs || party.losses > 0) return true
      if (party.stops.length > 0 && buffer?.pendingOnClose === 'return') return true
      return party.stops.some(({ atMs, graceMs }) => now >= atMs + graceMs)
    }
    // A poll under way has brought the task too late: after a stop, or after the lease was lost.
    if (!batch && (party.stops.length > 0 || party.losses > losses)) return true
    // It has waited for a second for its handler.
    if (!batch) return this.mostAheadOf(party) !== undefined && now >= polledMs + 1_000
    return party.stops.some(({ atMs, graceMs, abortMs }) => now >= atMs + graceMs + abortMs)
  }
}

function decisionOf(decision: TaskDecision, isTimeout: boolean): TaskDecision {
  return isTimeout ? decision.because('timeout') : decision
}

export function name({ identifier, sequence, attempt }: HeldTask): string {
  return `${identifier}@${sequence}#${attempt}`
}

export function names(tasks: Iterable<HeldTask>): string {
  return [...tasks].map(name).join(', ')
}
