/** What each verb of a node's repository means for the ledger, and whether the node may call it now. */
import type { Completion, HeldTask, PollOptions, TaskDecision, TaskInfo } from '@taskstream/task-api'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { describe, name, names } from './node-ledger.ts'
import type { Hold, Ledger, Party } from './node-ledger.ts'
import type { Fault } from './node-schedule.ts'

/** One transaction of a node, and its effects on the ledger. */
export interface Store {
  readonly party: Party
  /** The number of the fact that it was asked for. */
  readonly asked: number
  readonly askedMs: number
  /** How often its node had lost its lease then. */
  readonly losses: number
  readonly seen: Seen
  begun: boolean
  /** Whether its work is done, or has failed. */
  ended: boolean
  writes: boolean
  fault: Fault | undefined
  /** The tasks that it holds as long as it is open. */
  locked: Hold[]
  /** Called once it is committed. */
  effects: (() => void)[]
  /** Called once its node knows that it is committed. */
  tells: (() => void)[]
}

/** The state of a node when a transaction was asked for. */
export interface Seen {
  readonly polls: boolean
  readonly holdsLease: boolean
  readonly running: number
  readonly stuck: number
  /** The tasks that its owner holds by an earlier poll that went unanswered. */
  readonly unknown: readonly Hold[]
}

export interface Verbs {
  readonly own: Tasks
  readonly topic: string
  readonly ledger: Ledger
  /** Whether transactions follow one another. */
  readonly isSerial: boolean
}

/** Checks, before a poll, that the node may poll. */
export function polling({ ledger }: Verbs, store: Store, { size = 1 }: PollOptions): void {
  const { seen, party } = store
  const { setting, concurrency } = ledger
  ledger.check(seen.polls, () => 'a topic that was stopped is polled')
  ledger.check(seen.holdsLease, () => `${party.index} polls without a lease`)
  ledger.check(seen.stuck < concurrency, () => `it is polled with ${seen.stuck} stuck handlers`)
  const ahead = ledger.mostAheadOf(party)
  if (ahead !== undefined) return ledger.check(size <= ahead, () => `${size} tasks are asked for, where ${ahead} may be held`)
  ledger.check(seen.running < concurrency, () => `it is polled with ${seen.running} of ${concurrency} batches`)
  const room = setting.slots || setting.mode === 'transactional' ? 1 : concurrency - Math.max(seen.running, seen.stuck)
  ledger.check(size <= room * setting.size, () => `${size} tasks are asked for, with room for ${room} batches`)
  const unknown = seen.unknown.filter(({ doubted }) => !doubted)
  ledger.check(
    unknown.length === 0,
    () => `it is polled before what nobody knows of is reclaimed: ${names(unknown.map(({ task }) => task))}`,
  )
}

/** Returns what a poll must bring. Undefined: other transactions may come between. */
export function prediction({ ledger, isSerial }: Verbs, { size = 1 }: PollOptions): number[] | undefined {
  return isSerial ? ledger.rows.predict(size, ledger.clock.now().getTime()) : undefined
}

export async function polled(
  verbs: Verbs,
  store: Store,
  transaction: AnyTransaction,
  tasks: readonly HeldTask[],
  options: PollOptions,
  predicted: readonly number[] | undefined,
): Promise<void> {
  const { ledger } = verbs
  const { party } = store
  const sequences = tasks.map(({ sequence }) => sequence)
  ledger.check(!predicted || String(sequences) === String(predicted), () => `polled ${sequences}, not ${predicted}`)
  const now = ledger.clock.now().getTime()
  const isLate = ledger.rows.all.some(({ state, deadlineMs = Infinity }) => state === 'ready' && deadlineMs <= now)
  if (isLate) await learn(verbs, store, transaction, ({ state }) => state === 'filtered')
  const inTransaction = options.hold === 'transaction'
  for (const task of tasks) {
    const hold = ledger.hold(task, party, inTransaction, store.losses)
    if (inTransaction) {
      for (const { task: other, party } of [...ledger.open].filter((one) => one !== hold && one.isLocked))
        ledger.check(other.sequence !== task.sequence, () => `${name(task)} is locked by two, ${party.index} too`)
      store.locked.push(hold)
    } else {
      store.effects.push(() => {
        ledger.open.add(hold)
        ledger.rows.take(task, party.owner)
      })
      store.tells.push(() => (hold.told = true))
    }
  }
}

/** Checks, before a completion or a hand-back, that the node may write it. @returns the holds of the tasks */
export function writing(
  { ledger }: Verbs,
  store: Store,
  given: Iterable<readonly [HeldTask, TaskDecision | undefined]>,
): readonly Hold[] {
  store.writes = true
  const holds: Hold[] = []
  for (const [task, decision] of given) {
    const hold = ledger.holds.get(task)
    if (!hold) {
      ledger.wrong.push(`${name(task)} is written, and was never polled`)
      continue
    }
    holds.push(hold)
    const what = decision ? describe(decision) : 'returned'
    ledger.check(hold.party === store.party, () => `${name(task)} is another's`)
    ledger.check(
      ledger.mayWrite(hold, what),
      () =>
        `${name(task)} becomes ${what}, not ${[...hold.allowed].join(' or ') || 'anything'}${hold.inTransaction ? ', in its transaction' : ''}`,
    )
    // A repetition after a failure may come late, and the fence refuses it. So may the timeout of a handler that runs on after a
    // stop has handed its tasks back.
    const isKnown =
      hold.end !== 'returned' &&
      hold.toldEnd !== undefined &&
      hold.toldEnd < store.asked &&
      hold.troubles === store.party.troubles
    ledger.check(!isKnown, () => `${name(task)} becomes ${what}, and is known to be done`)
  }
  return holds
}

export function completed(
  { ledger }: Verbs,
  store: Store,
  { completed }: Completion,
  decisions: ReadonlyMap<HeldTask, TaskDecision>,
): void {
  const now = ledger.clock.now().getTime()
  for (const task of completed) {
    const hold = ledger.holds.get(task)!
    store.effects.push(() => {
      hold.end = 'completed'
      ledger.rows.complete(task, decisions.get(task)!, store.party.owner, now)
    })
    store.tells.push(() => (hold.answered = true))
  }
  know(ledger, store, decisions.keys())
}

export async function handedBack(
  verbs: Verbs,
  store: Store,
  transaction: AnyTransaction,
  { completed }: Completion,
  tasks: readonly HeldTask[],
): Promise<void> {
  const { ledger } = verbs
  const done = new Set(completed.map(({ sequence }) => sequence))
  for (const task of completed) {
    const hold = ledger.holds.get(task)!
    store.effects.push(() => {
      hold.end = 'returned'
      if (!hold.inTransaction) ledger.rows.handBack(task)
    })
    store.tells.push(() => (hold.answered = true))
  }
  if (completed.some((task) => ledger.holds.get(task)!.inTransaction))
    await learn(verbs, store, transaction, ({ sequence }) => done.has(sequence))
  know(ledger, store, tasks)
}

/** Notes that a node knows that it does not hold these tasks any more, whatever the database said of them. */
export function know(ledger: Ledger, store: Store, tasks: Iterable<HeldTask>): void {
  for (const task of tasks) {
    const hold = ledger.holds.get(task)!
    store.tells.push(() => (hold.toldEnd ??= ledger.next()))
  }
}

/** Learns which tasks were reclaimed: those that the owner held and no batch answers for. */
export async function reclaimed(verbs: Verbs, store: Store, transaction: AnyTransaction): Promise<void> {
  const { ledger } = verbs
  const isHeld = (sequence: number): boolean => {
    const { state, owner } = ledger.rows.row(sequence)
    return state === 'active' && owner === store.party.owner
  }
  const known = ledger.openOf(store.party).filter(({ told, inTransaction }) => told && !inTransaction)
  await learn(verbs, store, transaction, ({ sequence, state }) => {
    const isTaken = isHeld(sequence) && state === 'ready'
    const taken = known.find(({ task }) => isTaken && task.sequence === sequence)
    // A node hands back by itself what it could not write, so it does not reclaim that either.
    if (taken) ledger.check(false, () => `${name(taken.task)} is reclaimed from its own batch`)
    return isTaken
  })
}

/** Learns which tasks were taken from owners that count as dead. */
export async function expired(
  verbs: Verbs,
  store: Store,
  transaction: AnyTransaction,
  isDead: (owner: string) => boolean,
): Promise<void> {
  const { ledger } = verbs
  await learn(verbs, store, transaction, ({ sequence, state }) => {
    const row = ledger.rows.row(sequence)
    const isTaken = row.state === 'active' && state !== 'active'
    ledger.check(!isTaken || isDead(row.owner!), () => `${row.identifier}@${sequence} is taken from an owner that lives`)
    return isTaken
  })
}

/** Reads the rows in the transaction, as some verbs say only how many rows they have changed. */
export async function learn(
  { own, topic, ledger }: Verbs,
  store: Store,
  transaction: AnyTransaction,
  which: (info: TaskInfo) => boolean,
): Promise<void> {
  const infos = (await own.page(transaction, topic, { size: 1_000 })) as readonly TaskInfo[]
  for (const info of infos.filter((one) => ledger.rows.has(one.sequence) && which(one)))
    store.effects.push(() => ledger.rows.learn(info))
}
