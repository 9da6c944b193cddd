/**
 * How many tasks of a topic are active at a time, over all processes. Slots belong to owners, not to tasks: an owner takes a share and keeps it while it has
 * work, so neither a poll nor a completion writes anything for it; a poll only makes sure that they are still its own.
 */
import { checkDuration, checkInteger, checkTopic, invalid } from '@taskstream/task-api'
import type { SlotGrant, SlotWish } from '@taskstream/task-api'
import { raw, sql } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { lockLimit } from './lock-limit.ts'
import { deadOwner } from './owners.ts'

const isTotal = raw("kind = 'total'")

/** An owner with what it holds, or could hold. */
interface Share {
  readonly owner: string
  readonly slots: number
  readonly wanted: number
}

export function* takeSlots(context: Context, topic: string, wish: SlotWish): Verb<SlotGrant> {
  checkTopic(topic)
  if (typeof wish !== 'object' || wish === null) throw invalid('wish', wish, 'must be an object with held and wanted')
  const { held, wanted } = wish
  checkInteger('held', held, 0, 1_000_000)
  checkInteger('wanted', wanted, 0, 1_000_000)
  const { dialect, owner } = context
  const { slot } = dialect.tables
  const total = (yield* lockLimit(context, topic, isTotal))?.amount
  if (total === undefined) {
    yield sql`delete from ${slot} where topic = ${topic} and owner = ${owner}`
    // mutants: equivalent property, an answer without it says the same
    return { slots: undefined }
  }
  const rows = yield sql`select owner, slots, wanted from ${slot} where topic = ${topic}`
  const shares = rows.map((row) => ({
    owner: String(row['owner']),
    slots: toNumber(row['slots']),
    wanted: toNumber(row['wanted']),
  }))
  // mutants: equivalent number property `slots: 0`, only the slots of others are read
  const own = { owner, slots: 0, wanted: Math.max(held, wanted) }
  const others = shares.filter((share) => share.owner !== owner)
  const free = total - others.reduce((sum, { slots }) => sum + slots, 0)
  const slots = Math.max(held, Math.min(fairShare(total, [...others, own], owner), free), 0)
  // mutants: equivalent condition:false, an owner that wants none takes nothing from others
  if (own.wanted === 0) yield sql`delete from ${slot} where topic = ${topic} and owner = ${owner}`
  else {
    const update = sql`update ${slot} set slots = ${slots}, wanted = ${own.wanted} where topic = ${topic} and owner = ${owner}`
    // mutants: equivalent boundary `shares.length > others.length`, an update of no row touches none
    // mutants: equivalent number, a row that is there is not inserted again
    const known = shares.length > others.length && (yield* dialect.writes.touched(update)) > 0
    // Maintenance may have freed the row just now, which it does without the lock.
    // mutants: equivalent condition:true, a row that is there is not inserted again
    if (!known)
      yield* dialect.writes.touched(
        dialect.writes.insertIfAbsent(slot, { topic, owner, slots, wanted: own.wanted }, 'topic, owner'),
      )
  }
  // Others who hold more than their share look at it when they poll next. A loop that sleeps is woken.
  if (slots < own.wanted) for (const statement of dialect.topics.wake(topic)) yield statement
  return { slots }
}

/** What an owner may have if all take as much as they want, and nobody who wants more gets less than another. */
function fairShare(total: number, shares: readonly Share[], owner: string): number {
  let left = total
  // Who wants little comes first. Among equals the name decides, so that all owners compute the same.
  // mutants: equivalent boundary, no two owners have the same name
  const inOrder = shares.toSorted((one, other) => one.wanted - other.wanted || (one.owner < other.owner ? -1 : 1))
  for (const [index, share] of inOrder.entries()) {
    const part = Math.min(share.wanted, Math.ceil(left / (inOrder.length - index)))
    if (share.owner === owner) return part
    left -= part
  }
  // mutants: equivalent number, the owner is always among those that share
  return 0
}

/**
 * Whether this owner still has its slots of a topic. They stay its own until the transaction ends: `freeSlots` passes them meanwhile, and afterwards sees what it has taken.
 */
export function* holdSlots({ dialect, owner }: Context, topic: string): Verb<boolean> {
  checkTopic(topic)
  const rows =
    yield sql`select 1 as held from ${dialect.tables.slot} where topic = ${topic} and owner = ${owner} ${dialect.expr.shared}`
  return rows.length > 0
}

/** Frees the slots of dead owners that hold no task any more. Rows that others have locked just now count as held. */
export function* freeSlots(context: Context, olderThanMs: number): Verb<number> {
  checkDuration('olderThanMs', olderThanMs)
  const { dialect } = context
  const isDead = deadOwner(context, olderThanMs)
  const { slot } = dialect.tables
  // The row of an owner whose poll is under way is left for the next time: one that stands still there must not keep the slots of others.
  const dead = yield sql`
    select s.topic, s.owner from ${slot} s where ${isDead(raw('s.owner'))} order by s.topic, s.owner ${dialect.expr.alone}`
  // mutants: equivalent condition:false, of no rows none are freed
  if (dead.length === 0) return 0
  // Only a statement that begins after the rows were locked sees all that their owners have taken.
  const held = [
    ...(yield dialect.claims.claimedBy(isDead, Number.MAX_SAFE_INTEGER, 'read')),
    ...(dialect.ranges ? yield dialect.ranges.heldBy(isDead, Number.MAX_SAFE_INTEGER) : []),
  ]
  const keyOf = ({ topic, owner }: Row): string => JSON.stringify([topic, owner])
  const holding = new Set(held.map(keyOf))
  let freed = 0
  for (const row of dead.filter((each) => !holding.has(keyOf(each)))) {
    const owner = String(row['owner'])
    // An owner that was silent may have come back since.
    freed += yield* dialect.writes.touched(
      sql`delete from ${slot} where topic = ${String(row['topic'])} and owner = ${owner} and ${isDead(sql`${owner}`)}`,
    )
  }
  return freed
}
