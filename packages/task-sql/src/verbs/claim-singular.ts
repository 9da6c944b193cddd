/**
 * Polling under a singular condition.
 *
 * - A row is *listed* while it may be its identifier's head: the one whose turn it is. Of an identifier's rows in one
 *   push one is listed. A poll that finds a listed row blocked takes it off the list, so that blocked rows cost polls nothing.
 * - Whatever unblocks a row (completion, expiry, reset, purge …) notes its identifier. A poll looks first into what is noted,
 *   lists the heads it finds there, and only then takes listed rows, in the topic's order.
 * - All of this happens while the identifier's *stripe* is locked by the poll: taking, listing and unlisting never meet. What is
 *   decided is decided by a statement that begins after the stripe was locked, and so sees whatever was done in the stripe before.
 *   An event that such a statement does not see yet leaves a note that a later one will.
 *
 * Stripes and rows that others have locked are passed over. Nobody waits, and no statement can fail for what another transaction does.
 */
import type { PollCondition } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import type { Claim, ClaimRequest } from '../core/requests.ts'
import { stages, states } from '../core/states.ts'
import type { BlockingClass } from '../core/states.ts'
import { nothing, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'
import { isInReadyList, taken } from './claim-ordered.ts'
import { claimStatus, isSameMode } from '../core/topic-mode.ts'
import type { TopicMode } from '../core/topic-mode.ts'
import { toNumber } from '../core/task-row.ts'

/** Stripes taken beyond the number of tasks asked for, once some heads have turned out to be blocked or locked. */
// mutants: equivalent number, one more or less is as good
const spareStripes = 16
/** Looks at so many more rows than are asked for: others may be working on the first. */
// mutants: equivalent number, one more or less is as good
const spareRows = 1_000
/** Each takes rows or takes them off the list; what is left then is left for the next poll. */
// mutants: equivalent number, one more or less is as good
const maximumRounds = 16

/** One number that orders rows as `orderBy` does. A priority outweighs every sequence below 2^47. */
const placeIn = {
  fifo: 't.sequence',
  lifo: '- t.sequence',
  priority: `t.sequence - t.priority * ${2 ** 47}`,
} as const

export function* claimSingular(dialect: Dialect, request: ClaimRequest, mode: TopicMode): Verb<Claim> {
  const { topic, owner, size } = request
  const status = yield* claimStatus(dialect, topic, owner)
  if (!status.mode || !status.ownerKnown || !isSameMode(status.mode, mode)) return { rows: [], ...status }
  const some = (yield* processRechecks(dialect, topic, mode, size)) || (yield* hasListed(dialect, topic, mode))
  // mutants: equivalent condition:false, a poll that looks where nothing is finds nothing
  if (!some) return { rows: [], mode, ownerKnown: true }
  const claimed: Row[] = []
  /** Heads that others have locked, and work on without a stripe. */
  const locked: number[] = []
  // mutants: equivalent number `let round = 0`, one round more or less is as good
  // mutants: equivalent boundary `round < maximumRounds`, one round more or less is as good
  for (let round = 0; claimed.length < size && round < maximumRounds; round++) {
    const room = size - claimed.length
    // mutants: equivalent number arithmetic, so many more or less are looked at
    const limit = room * 2 + spareRows
    const most = room + spareRows
    // Heads are few, and so equality is right: the index is read itself, and forgets entries of rows taken off the list.
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
    // mutants: equivalent condition:false, the rounds that are left find nothing either
    if (rows.length === 0) break
    const free = rows.filter(({ blocked }) => blocked === null).map(toSequence)
    // Where some were locked more of them may be.
    const heads = locked.length > 0 ? free : free.slice(0, room)
    // mutants: equivalent boundary condition:true `heads.length > 0`, without any nothing is claimed
    if (heads.length > 0) {
      const taken = yield* claim(dialect, request, mode, heads, room)
      claimed.push(...taken)
      const sequences = new Set(taken.map(toSequence))
      locked.push(...heads.filter((sequence) => !sequences.has(sequence)))
    }
    const waiting = rows.filter(({ blocked }) => blocked !== null)
    // mutants: equivalent boundary condition:true, without any nothing is updated
    if (waiting.length > 0) yield* setListed(dialect, topic, waiting.map(toSequence), false)
    // What is left is of stripes that others have locked, or blocked.
    if (claimed.length > 0 && stripes.all && rows.length < most) break
  }
  yield* dialect.claims.record(topic, owner, claimed.map(toSequence))
  return { rows: claimed, mode, ownerKnown: true }
}

/** Asked for one row, PostgreSQL reads the index itself, and marks the entries of rows that are off the list as it passes them. */
function* hasListed(dialect: Dialect, topic: string, mode: TopicMode): Verb<boolean> {
  const some = yield sql`
    select 1 as found
      from ${dialect.paths.inReadyList(mode.order)}
     where t.topic = ${topic} and ${isInReadyList(dialect, mode)}
     order by ${dialect.paths.orderBy(mode.order)}
     ${dialect.expr.limit(raw('1'))}`
  // mutants: equivalent boundary, a poll that looks where nothing is finds nothing
  return some.length > 0
}

/** Lists the heads of noted identifiers, and drops the notes. @returns whether it has listed any */
function* processRechecks(dialect: Dialect, topic: string, mode: TopicMode, size: number): Verb<boolean> {
  const { turn } = dialect.tables
  // mutants: equivalent number arithmetic, so many more or less are looked at
  const limit = size * 4 + spareRows
  const first = sql`
    select n.turn, n.identifier, n.turn as place
      from ${turn} n
     where n.topic = ${topic}
     order by n.turn
     ${dialect.expr.limit(sql`${limit}`)}`
  const stripes = yield* dialect.locks.stripes(topic, first, limit)
  if (!stripes) return false
  const notes = yield sql`select c.turn, c.identifier from (${first}) c where ${stripes.holds(raw('c.identifier'))}`
  if (notes.length === 0) return false
  const identifiers = [...new Set(notes.map(({ identifier }) => String(identifier)))]
  const heads = yield sql`
    select r.identifier,
           (select t.sequence
              from ${dialect.paths.identified('t')}
             where t.topic = ${topic} and t.identifier = r.identifier and t.stage = ${stages.open}
             order by t.sequence ${raw(mode.order === 'lifo' ? 'desc' : 'asc')}
             ${dialect.expr.limit(raw('1'))}) as sequence
      from ${dialect.expr.rows([{ name: 'identifier', type: 'text', values: identifiers }])}
     where ${stands(dialect, topic, raw('r.identifier'), sql`b.stage = ${stages.active}`)} is null`
  const found = heads.filter(({ sequence }) => sequence !== null).map(toSequence)
  // mutants: equivalent condition:false, without any nothing is updated
  const listed = found.length === 0 ? [] : yield* setListed(dialect, topic, found, true)
  // Others are working on these: their notes stay.
  const kept = listed.length === found.length ? new Set() : yield* notListed(dialect, topic, found)
  const done = notes.filter(({ identifier }) => !kept.has(identifier)).map((row) => toNumber(row['turn']))
  // mutants: equivalent boundary condition:true, without any nothing is deleted
  if (done.length > 0) yield* dialect.writes.remove({ table: turn, key: 'turn', topic, keys: done })
  // mutants: equivalent boundary number, where it is not said it is looked for
  return listed.length > 0
}

/** The identifiers of ready rows that are still not listed. */
function* notListed(dialect: Dialect, topic: string, sequences: readonly number[]): Verb<ReadonlySet<unknown>> {
  const rows = yield sql`
    select t.identifier
      from ${dialect.paths.byKeys(topic, sequences)} and t.state = ${states.ready} and t.listed = ${dialect.expr.false}`
  return new Set(rows.map(({ identifier }) => identifier))
}

/** Ready rows that are not listed although nothing stands in their way, with their identifiers. */
export function unblocked(dialect: Dialect, topic: string, mode: TopicMode): Statement {
  return sql`
    select c.identifier
      from (select t.sequence, t.identifier
              from ${dialect.paths.inOrder}
             where ${dialect.paths.inTopic(topic)} and t.state = ${states.ready} and t.listed = ${dialect.expr.false}) c
     where ${blocked(dialect, topic, mode)} is null`
}

/** Not null where another row stands in the way of the candidate `c`. */
function blocked(dialect: Dialect, topic: string, mode: TopicMode): Statement {
  const before = raw(mode.order === 'lifo' ? 'b.sequence > c.sequence' : 'b.sequence < c.sequence')
  const obstacles = [
    sql`b.stage = ${stages.active}`,
    ...obstaclesOf(mode.condition).map((name) => sql`b.stage = ${stages[name]} and ${before}`),
  ]
  const each = obstacles.map((obstacle) => stands(dialect, topic, raw('c.identifier'), obstacle))
  return sql`coalesce(${each.reduce((left, right) => sql`${left}, ${right}`)})`
}

function obstaclesOf(condition: PollCondition): BlockingClass[] {
  if (condition === 'singular-by-identifier-suspend-until-success') return ['open', 'failed', 'suspended']
  if (condition === 'singular-by-identifier-suspend-on-failure') return ['open', 'failed']
  return ['open']
}

/** One seek of the index by identifier and stage. A limited scalar is never turned into a scan of all that is blocked. */
function stands({ paths, expr }: Dialect, topic: string, identifier: Statement, obstacle: Statement): Statement {
  return sql`(select 1 from ${paths.identified('b')} where b.topic = ${topic} and b.identifier = ${identifier} and ${obstacle} ${expr.limit(raw('1'))})`
}

/** Takes so many of these, in the topic's order, passing over what others have locked. */
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
