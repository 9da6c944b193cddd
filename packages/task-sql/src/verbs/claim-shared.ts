/**
 * Polling in the order `shared`: identifiers take turns.
 *
 * A ready row has the class `high` or `low`, the others are `aside`. So the index of identifiers has the first ready tasks of each identifier in a place
 * of their own, and a poll reads neither a backlog nor what has ended. It walks from identifier to identifier, beginning after the one that the last poll
 * of this process ended with, and takes one task of each until it has enough.
 *
 * The walk reads identifiers whether they have ready tasks or not. If a poll still wants more after some thousand, it adds the identifiers of the ready
 * tasks that were pushed first. So tasks are found however many identifiers have nothing to do.
 */
import { taskLimits } from '@taskstream/task-api'
import type { PollShares } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import type { Claim, ClaimRequest } from '../core/requests.ts'
import { stages } from '../core/states.ts'
import { nothing, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { sequencesOf, toNumber } from '../core/task-row.ts'
import { claimStatus, isSameMode, mayClaim } from '../core/topic-mode.ts'
import type { TopicMode } from '../core/topic-mode.ts'
import { toGroup, Turns } from '../core/turns.ts'
import type { Group, Place, Turn } from '../core/turns.ts'
import type { Row, Verb } from '../core/verb.ts'
import { hasListed, isInReadyList, taken } from './claim-ordered.ts'

/** How many identifiers a statement walks over. Servers end a recursion after a thousand steps. */
// mutants: equivalent number, one more or less is as good
const most = 500
/** How far a statement reads on that is about many identifiers: some servers begin at the first task of each again and again. */
// mutants: equivalent number, one more or less is as good
const deepest = 100
/** So few kinds of tasks are read with a statement each, which has no such limit. */
// mutants: equivalent number, one more or less is as good
const few = 8
/** Identifiers that a poll walks over beside those that it takes tasks of, at first: few have nothing to do. */
// mutants: equivalent number, one more or less is as good
const spareIdentifiers = 50
/** How many statements a poll walks, beside those that it needs to find as many identifiers as it wants. */
// mutants: equivalent number, one more or less is as good
const spareSteps = 4
/** How often a poll reads on, because others have taken what it has read. The next poll goes on with the rest. */
// mutants: equivalent number, one more or less is as good
const maximumRounds = 24

const mode: TopicMode = { order: 'shared', condition: 'none', record: 'states' }

/** @param places where this process has left each topic */
export function* claimShared(
  dialect: Dialect,
  request: ClaimRequest,
  shares: PollShares,
  places: Map<string, Place>,
): Verb<Claim> {
  const { topic, owner, size, columns } = request
  const status = yield* claimStatus(dialect, topic, owner)
  // mutants: equivalent property `rows: []`, the caller looks at the mode and the owner first
  if (!status.mode || !status.ownerKnown || !isSameMode(status.mode, mode)) return { rows: [], ...status }
  // mutants: equivalent condition:false, a poll that finds no group takes nothing
  if (!(yield* hasListed(dialect, topic, mode))) return { rows: [], mode, ownerKnown: true }
  const last = places.get(topic)
  const walk = walkFrom(last?.identifier)
  const before = last?.lap ?? -1
  const turns = new Turns(shares, before)
  const claimed = new Map<number, Row>()
  const inTurn: Turn[] = []
  let missed = 0
  // mutants: equivalent boundary number, one round more or less is as good
  for (let round = 0; claimed.size < size && round < maximumRounds; round++) {
    const room = size - claimed.size
    // Others may be working on the first ones. Whenever they were, twice as many are tried.
    const wanted = Math.min(taskLimits.pollSize, room * 2 ** missed)
    if (turns.left.length === 0 && !turns.join(yield* walkOn(dialect, topic, walk, wanted))) break
    yield* readOn(dialect, topic, turns.left, Math.ceil(wanted / turns.left.length))
    const limit = Math.min(room, turns.owed || room)
    const chosen = turns.choose(wanted)
    if (chosen.length === 0) continue
    const sequences = chosen.map(({ sequence }) => sequence)
    const rows = yield* dialect.writes.change({
      topic,
      sequences,
      which: sql`${dialect.paths.ready} and ${mayClaim(dialect, topic, owner, mode)}`,
      // Those whose turn is first: the oldest ones may all be of one identifier.
      ...(sequences.length > limit && { first: { orderBy: dialect.paths.placeOf(raw('t.sequence'), sequences), limit } }),
      locked: 'skip',
      set: sql`${taken(dialect, request)}, stage = ${stages.aside}`,
      returning: columns,
    })
    for (const row of rows) claimed.set(toNumber(row['sequence']), row)
    inTurn.push(...chosen.filter(({ sequence }) => claimed.has(sequence)))
    if (turns.took(chosen, claimed, limit)) missed++
  }
  // Where the walk was cut short, the next one goes on: else what comes after many identifiers without tasks would not have its turn.
  inTurn.sort((left, right) => left.at - right.at)
  const rows = inTurn.map(({ sequence }) => claimed.get(sequence)!)
  const lastOne = inTurn.at(-1)
  const identifier = walk.cut ?? lastOne?.group.identifier
  if (identifier !== undefined) places.set(topic, { identifier, lap: lastOne?.lap ?? before })
  // Somebody may have destroyed the topic meanwhile, or unregistered the owner.
  if (claimed.size === 0) return { rows: [], ...(yield* claimStatus(dialect, topic, owner)) }
  yield* dialect.claims.record(topic, owner, [...claimed.keys()])
  return { rows, mode, ownerKnown: true }
}

/** A walk from identifier to identifier: after one of them, and then from the first. */
interface Walk {
  /** Walks on after this one; undefined for the first. */
  after: string | undefined
  /** Whether it has come to the end, and begun at the first. */
  wrapped: boolean
  /** Whether it has found the first that has ready tasks. */
  hasFirst: boolean
  ended: boolean
  /** Where it was given up. */
  cut: string | undefined
  /** How many statements it has made. */
  steps: number
  readonly seen: Set<string>
}

function walkFrom(after: string | undefined): Walk {
  return { after, wrapped: after === undefined, hasFirst: false, ended: false, cut: undefined, steps: 0, seen: new Set() }
}

/** @returns the next identifiers with ready tasks: as many as are wanted, or more, unless there are no more */
function* walkOn(dialect: Dialect, topic: string, walk: Walk, wanted: number): Verb<readonly Group[]> {
  const groups: Group[] = []
  const add = (rows: readonly Row[]): void => {
    const found = rows.flatMap((row) => toGroup(row) ?? []).filter(({ identifier }) => !walk.seen.has(identifier))
    for (const group of found) {
      walk.seen.add(group.identifier)
      groups.push({ ...group, isFirst: walk.wrapped && !walk.hasFirst })
      walk.hasFirst ||= walk.wrapped
    }
  }
  // Where each identifier is a statement, no more are walked over at first than are needed if all have tasks.
  const [span, spare] = dialect.claims.nextIdentifiers ? [spareIdentifiers, 0] : [most, spareIdentifiers]
  // mutants: equivalent number arithmetic:* method, a poll may walk some statements more or fewer before it asks for the first tasks
  const steps = walk.steps + spareSteps + Math.ceil((2 * wanted) / span)
  // mutants: equivalent boundary, one statement more or less is as good
  while (!walk.ended && groups.length < wanted && walk.steps < steps) {
    // mutants: equivalent number condition method, a statement may walk over more or fewer
    const window = walk.steps === 0 ? Math.min(span, wanted + spare) : span
    const rows = yield* walkOver(dialect, topic, walk.after, window)
    add(rows)
    const end = rows.find(({ step }) => toNumber(step) === window)
    walk.after = end && String(end['identifier'])
    walk.steps++
    walk.ended = !end && walk.wrapped
    walk.wrapped ||= !end
  }
  // mutants: equivalent boundary, those that are wanted have been found, and the next walk goes on after them either way
  if (!walk.ended && groups.length < wanted) {
    // mutants: equivalent, a later round of this poll may go on, or the next poll
    walk.ended = true
    walk.cut = walk.after
    // mutants: equivalent method, more of the first tasks may be read
    add(yield firstStatement(dialect, topic, Math.min(most, wanted)))
  }
  return groups
}

/** Walks over so many identifiers. @returns those that have ready tasks, and the last one of a whole walk */
function* walkOver(dialect: Dialect, topic: string, after: string | undefined, window: number): Verb<readonly Row[]> {
  if (!dialect.claims.nextIdentifiers) return yield walkStatement(dialect, topic, after, window)
  const identifiers = yield* dialect.claims.nextIdentifiers(topic, after, window)
  if (identifiers.length === 0) return []
  const rows = yield sql`
    select r.identifier, ${headsOf(dialect, topic, raw('r.identifier'))}
      from ${dialect.expr.rows([{ name: 'identifier', type: 'text', values: identifiers }])}`
  const found = new Map(rows.map((row) => [String(row['identifier']), row]))
  return identifiers.map((identifier, index) => ({ ...found.get(identifier), step: index + 1 }))
}

/**
 * Selects those identifiers of a walk that have ready tasks, and the last one of a whole walk.
 *
 * @param after undefined for a walk from the first
 */
function walkStatement(dialect: Dialect, topic: string, after: string | undefined, window: number): Statement {
  const { expr, paths, tables } = dialect
  const next = (which: Statement): Statement => sql`
    (select t.identifier
       from ${paths.identified('t')}
      where t.topic = ${topic} and t.stage is not null${which}
      order by t.identifier
      ${expr.limit(raw('1'))})`
  // mutants: equivalent sql-number `}, 1`, a statement may walk over one identifier less
  // mutants: equivalent sql-boundary `g.step < `, a statement may walk over one identifier more
  return sql`
    ${expr.withRecursive} g (identifier, step) as (
      select ${next(after === undefined ? nothing : sql` and t.identifier > ${after}`)}, 1
        from ${tables.topic} p
       where p.topic = ${topic}
       union all
      select ${next(raw(' and t.identifier > g.identifier'))}, g.step + 1
        from g
       where g.identifier is not null and g.step < ${window})
    select c.identifier, c.step, c.high, c.low
      from (select g.identifier, g.step, ${headsOf(dialect, topic, raw('g.identifier'))}
              from g
             where g.identifier is not null) c
     where c.high is not null or c.low is not null or c.step = ${window}
     order by c.step`
}

/** Selects the identifiers of the ready tasks that were pushed first. */
function firstStatement(dialect: Dialect, topic: string, count: number): Statement {
  const { expr, paths } = dialect
  return sql`
    select c.identifier, ${headsOf(dialect, topic, raw('c.identifier'))}
      from (select t.identifier
              from ${paths.inReadyList(mode.order)}
             where ${paths.inTopic(topic)} and ${isInReadyList(dialect, mode)}
             order by ${paths.orderBy(mode.order)}
             ${expr.limit(sql`${count}`)}) c`
}

/** The first ready tasks of an identifier, as columns `high` and `low`. */
function headsOf({ expr, paths }: Dialect, topic: string, identifier: Statement): Statement {
  const first = (stage: Statement): Statement => sql`
    (select t.sequence
       from ${paths.identified('t')}
      where t.topic = ${topic} and t.identifier = ${identifier} and t.stage = ${stage}
      order by t.sequence
      ${expr.limit(raw('1'))})`
  return sql`${first(stages.high)} as high, ${first(stages.low)} as low`
}

/** Reads so many more tasks of each kind of each group, unless as many are known, or there are no more. */
function* readOn({ expr, paths }: Dialect, topic: string, groups: readonly Group[], wanted: number): Verb<void> {
  const queues = groups.flatMap(({ queues }) => queues).filter(({ known, ended }) => !ended && known.length < wanted)
  // mutants: equivalent condition boundary, either way the same tasks are read
  if (queues.length <= few) {
    for (const queue of queues) {
      const rows = yield sql`
        select t.sequence
          from ${paths.identified('t')}
         where t.topic = ${topic} and t.identifier = ${queue.identifier} and t.stage = ${raw(String(queue.stage))} and t.sequence > ${queue.last}
         order by t.sequence
         ${expr.limit(sql`${wanted}`)}`
      queue.add(sequencesOf(rows), wanted)
    }
    return
  }
  // mutants: equivalent method, more tasks may be read than are wanted
  const depth = Math.min(deepest, wanted)
  const next = (of: string, after: string): Statement => sql`
    (select t.sequence
       from ${paths.identified('t')}
      where t.topic = ${topic} and t.identifier = ${raw(`${of}.identifier`)} and t.stage = ${raw(`${of}.stage`)} and t.sequence > ${raw(`${of}.${after}`)}
      order by t.sequence
      ${expr.limit(raw('1'))})`
  // mutants: equivalent sql-boundary `h.step < `, one task more may be read than is wanted
  const rows = yield sql`
    ${expr.withRecursive} h (place, identifier, stage, sequence, step) as (
      select r.place, r.identifier, r.stage, ${next('r', 'last')}, 1
        from ${expr.rows([
          { name: 'place', type: 'integer', values: queues.map((_, place) => place) },
          { name: 'identifier', type: 'text', values: queues.map(({ identifier }) => identifier) },
          { name: 'stage', type: 'integer', values: queues.map(({ stage }) => stage) },
          { name: 'last', type: 'integer', values: queues.map(({ last }) => last) },
        ])}
       union all
      select h.place, h.identifier, h.stage, ${next('h', 'sequence')}, h.step + 1
        from h
       where h.sequence is not null and h.step < ${depth})
    select h.place, h.sequence from h where h.sequence is not null`
  const found = Map.groupBy(rows, ({ place }) => toNumber(place))
  for (const [place, queue] of queues.entries()) queue.add(sequencesOf(found.get(place) ?? []), depth)
}
