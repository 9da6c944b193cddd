/**
 * Polling under a singular condition: one task of an identifier is at work at a time.
 *
 * - A ready task is in the ready list while it may be the first task of its identifier. A push lists one of the tasks that
 *   it has for an identifier. A poll that finds a listed task blocked takes it off the list, so that later polls do not read it.
 * - A verb that may unblock a task (complete, expire, purge and others) writes a recheck of its identifier. A poll processes
 *   the rechecks first: it puts the first tasks of their identifiers on the list. Then it takes tasks from the list, in the
 *   topic's order.
 * - A poll locks the lock stripe of an identifier before it takes, lists or unlists tasks of that identifier. Two polls
 *   therefore never judge the same identifier at once. The statement that judges begins after the stripe was locked, so it
 *   sees everything that earlier polls did there. If a change commits too late for that statement, its recheck is left for a
 *   later poll.
 *
 * Polls skip stripes and rows that other transactions have locked. No poll waits, and none fails because of another transaction.
 */
import type { PollCondition } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import type { Claim, ClaimRequest } from '../core/requests.ts'
import { stages, states } from '../core/states.ts'
import type { BlockingClass } from '../core/states.ts'
import { nothing, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'
import { hasListed, isInReadyList, taken } from './claim-ordered.ts'
import { claimStatus, isSameMode } from '../core/topic-mode.ts'
import type { TopicMode } from '../core/topic-mode.ts'
import { toNumber } from '../core/task-row.ts'

/** Extra stripes that later rounds lock, because tasks of the first round were blocked or locked. */
// mutants: equivalent number, one more or less is as good
const spareStripes = 16
/** Extra rows that a poll reads, because other polls may be working on the first ones. */
// mutants: equivalent number, one more or less is as good
const spareRows = 1_000
/** Each round takes tasks, or takes them off the ready list. The next poll goes on with the rest. */
// mutants: equivalent number, one more or less is as good
const maximumRounds = 16

/** A number that sorts rows as `orderBy` does. A priority outweighs every sequence below 2^47. */
const placeIn = {
  fifo: 't.sequence',
  lifo: '- t.sequence',
  // mutants: equivalent number:48 number:3, a priority then outweighs more
  priority: `t.sequence - t.priority * ${2 ** 47}`,
  // mutants: equivalent string property, no topic of this order has a condition
  shared: 't.sequence',
} as const

export function* claimSingular(dialect: Dialect, request: ClaimRequest, mode: TopicMode): Verb<Claim> {
  const { topic, owner, size } = request
  const status = yield* claimStatus(dialect, topic, owner)
  // mutants: equivalent property `rows: []`, the caller looks at the mode and the owner first
  if (!status.mode || !status.ownerKnown || !isSameMode(status.mode, mode)) return { rows: [], ...status }
  const some = (yield* processRechecks(dialect, topic, mode, size)) || (yield* hasListed(dialect, topic, mode))
  // mutants: equivalent condition:false, a poll that reads an empty list takes nothing
  if (!some) return { rows: [], mode, ownerKnown: true }
  const claimed: Row[] = []
  /** First tasks whose rows other transactions have locked. Verbs other than poll lock rows without a stripe. */
  const locked: number[] = []
  // mutants: equivalent number `let round = 0`, one round more or less is as good
  // mutants: equivalent boundary `round < maximumRounds`, one round more or less is as good
  // mutants: equivalent boundary logic `claimed.length < size && round`, a round without room takes nothing
  for (let round = 0; claimed.length < size && round < maximumRounds; round++) {
    const room = size - claimed.length
    // mutants: equivalent number arithmetic, the poll only reads some rows more or fewer
    const limit = room * 2 + spareRows
    const most = room + spareRows
    // The ready list is short, so the topic is compared by equality here. The index is then read directly, and it forgets the
    // entries of rows that have left the list.
    // mutants: equivalent condition:true boundary number, no row is among none, and one is soon passed
    const passed = locked.length > 0 ? sql` and not (${dialect.paths.among(raw('t.sequence'), locked)})` : nothing
    const first = sql`
      select t.sequence, t.identifier, ${raw(placeIn[mode.order])} as place
        from ${dialect.paths.inReadyList(mode.order)}
       where t.topic = ${topic} and ${isInReadyList(dialect, mode)}${passed}
       order by ${dialect.paths.orderBy(mode.order)}
       ${dialect.expr.limit(sql`${limit}`)}`
    const stripes = yield* dialect.locks.stripes(topic, first, round === 0 ? room : room + spareStripes + locked.length)
    if (!stripes) break
    const rows = yield sql`
      select c.sequence, ${blocked(dialect, topic, mode)} as blocked
        from (select c.sequence, c.identifier, c.place
                from (${first}) c
               where ${stripes.holds(raw('c.identifier'))} and ${stripes.reaches(raw('c.place'))}
               order by c.place
               ${dialect.expr.limit(sql`${most}`)}) c
       order by c.place`
    // mutants: equivalent condition:false, the remaining rounds find no rows either
    if (rows.length === 0) break
    const free = rows.filter(({ blocked }) => blocked === null).map(toSequence)
    // If others have locked some of these rows, they may have locked more: the claim gets spare ones.
    // mutants: equivalent condition:true boundary number `locked.length > 0`, the claim takes no more than there is room for
    // mutants: equivalent method `free.slice(0, room)`, the claim takes no more than there is room for
    const heads = locked.length > 0 ? free : free.slice(0, room)
    // mutants: equivalent boundary condition:true `heads.length > 0`, a claim of no rows takes nothing
    if (heads.length > 0) {
      const taken = yield* claim(dialect, request, mode, heads, room)
      // mutants: equivalent method, the rows come in any order
      claimed.push(...taken)
      const sequences = new Set(taken.map(toSequence))
      // mutants: equivalent method, what was taken is in the ready list no more
      locked.push(...heads.filter((sequence) => !sequences.has(sequence)))
    }
    const waiting = rows.filter(({ blocked }) => blocked !== null)
    // mutants: equivalent boundary condition:true number, an update of no rows changes nothing, and a row that stays is read again
    if (waiting.length > 0) yield* setListed(dialect, topic, waiting.map(toSequence), false)
    // The rows that are left are blocked, or others have locked their stripes.
    // mutants: equivalent condition:false number, another round finds nothing more
    if (claimed.length > 0 && stripes.all && rows.length < most) break
  }
  yield* dialect.claims.record(topic, owner, claimed.map(toSequence))
  return { rows: claimed, mode, ownerKnown: true }
}

/** Puts the first tasks of the rechecked identifiers on the ready list, and deletes the rechecks. @returns whether it has listed any task */
function* processRechecks(dialect: Dialect, topic: string, mode: TopicMode, size: number): Verb<boolean> {
  const { turn } = dialect.tables
  // mutants: equivalent number arithmetic, the poll only reads some rechecks more or fewer
  const limit = size * 4 + spareRows
  const first = sql`
    select n.turn, n.identifier, n.turn as place
      from ${turn} n
     where n.topic = ${topic}
     order by n.turn
     ${dialect.expr.limit(sql`${limit}`)}`
  const stripes = yield* dialect.locks.stripes(topic, first, limit)
  // mutants: equivalent literal, a poll that reads an empty list takes nothing
  if (!stripes) return false
  const notes = yield sql`select c.turn, c.identifier from (${first}) c where ${stripes.holds(raw('c.identifier'))}`
  // mutants: equivalent condition:false literal, of no rechecks none is listed, and a poll that reads an empty list takes nothing
  if (notes.length === 0) return false
  const identifiers = [...new Set(notes.map(({ identifier }) => String(identifier)))]
  const heads = yield sql`
    select r.identifier,
           (select t.sequence
              from ${dialect.paths.identified('t')}
             where t.topic = ${topic} and t.identifier = r.identifier and t.stage = ${stages.open}
             order by t.sequence ${raw(mode.order === 'lifo' ? 'desc' : '')}
             ${dialect.expr.limit(raw('1'))}) as sequence
      from ${dialect.expr.rows([{ name: 'identifier', type: 'text', values: identifiers }])}
     where ${stands(dialect, topic, raw('r.identifier'), sql`b.stage = ${stages.active}`)} is null`
  // mutants: equivalent method, no task has the sequence 0
  const found = heads.filter(({ sequence }) => sequence !== null).map(toSequence)
  // mutants: equivalent condition:false, an update of no rows changes nothing
  const listed = found.length === 0 ? [] : yield* setListed(dialect, topic, found, true)
  // Other transactions have locked the rows that could not be listed. The rechecks of their identifiers stay.
  // mutants: equivalent condition:false, none of those that were listed is found
  const kept = listed.length === found.length ? new Set() : yield* notListed(dialect, topic, found)
  const done = notes.filter(({ identifier }) => !kept.has(identifier)).map((row) => toNumber(row['turn']))
  // mutants: equivalent boundary condition:true, a delete of no rows changes nothing
  if (done.length > 0) yield* dialect.writes.remove({ table: turn, key: 'turn', topic, keys: done })
  // mutants: equivalent boundary number result, after a wrong answer the poll only reads the list for itself
  return listed.length > 0
}

/** The identifiers of those rows that are ready and still not in the ready list. */
function* notListed(dialect: Dialect, topic: string, sequences: readonly number[]): Verb<ReadonlySet<unknown>> {
  const rows = yield sql`
    select t.identifier
      from ${dialect.paths.byKeys(topic, sequences)} and t.state = ${states.ready} and t.listed = ${dialect.expr.false}`
  return new Set(rows.map(({ identifier }) => identifier))
}

/** Selects the identifiers of ready rows that no other task blocks and that are not in the ready list. */
export function unblocked(dialect: Dialect, topic: string, mode: TopicMode): Statement {
  return sql`
    select c.identifier
      from (select t.sequence, t.identifier
              from ${dialect.paths.inOrder}
             where ${dialect.paths.inTopic(topic)} and t.state = ${states.ready} and t.listed = ${dialect.expr.false}) c
     where ${blocked(dialect, topic, mode)} is null`
}

/** Not null if another task of its identifier blocks the candidate `c`. */
function blocked(dialect: Dialect, topic: string, mode: TopicMode): Statement {
  const before = raw(mode.order === 'lifo' ? 'b.sequence > c.sequence' : 'b.sequence < c.sequence')
  const obstacles = [
    sql`b.stage = ${stages.active}`,
    ...obstaclesOf(mode.condition).map((name) => sql`b.stage = ${stages[name]} and ${before}`),
  ]
  const each = obstacles.map((obstacle) => stands(dialect, topic, raw('c.identifier'), obstacle))
  return sql`coalesce(${each.reduce((left, right) => sql`${left}, ${right}`)})`
}

/** The classes of tasks that come first under a condition, besides one at work. */
export function obstaclesOf(condition: PollCondition): BlockingClass[] {
  if (condition === 'singular-by-identifier-suspend-until-success') return ['open', 'failed', 'suspended']
  if (condition === 'singular-by-identifier-suspend-on-failure') return ['open', 'failed']
  return ['open']
}

/**
 * Not null if the identifier has a task `b` that meets the condition. One seek in the index by identifier and blocking class: no
 * planner turns a scalar subquery with a limit into a scan of all such tasks.
 */
function stands({ paths, expr }: Dialect, topic: string, identifier: Statement, obstacle: Statement): Statement {
  return sql`(select 1 from ${paths.identified('b')} where b.topic = ${topic} and b.identifier = ${identifier} and ${obstacle} ${expr.limit(raw('1'))})`
}

/** Takes at most `most` of these tasks, in the topic's order, and skips rows that others have locked. */
function claim(
  dialect: Dialect,
  request: ClaimRequest,
  { order }: TopicMode,
  sequences: readonly number[],
  most: number,
): Verb<readonly Row[]> {
  return dialect.writes.change({
    topic: request.topic,
    sequences,
    which: sql`t.state = ${states.ready}`,
    locked: 'skip',
    // mutants: equivalent boundary, the first of no more than that are all of them
    ...(sequences.length > most && { first: { orderBy: dialect.paths.orderBy(order), limit: most } }),
    set: sql`${taken(dialect, request)}, stage = ${stages.active}`,
    returning: request.columns,
  })
}

function setListed(dialect: Dialect, topic: string, sequences: readonly number[], listed: boolean): Verb<readonly Row[]> {
  const set = sql`listed = ${listed ? dialect.expr.true : dialect.expr.false}`
  const which = sql`t.state = ${states.ready} and t.listed = ${listed ? dialect.expr.false : dialect.expr.true}`
  return dialect.writes.change({ topic, sequences, which, locked: 'skip', set })
}

function toSequence(row: Row): number {
  return toNumber(row['sequence'])
}
