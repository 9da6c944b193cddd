/**
 * Correcting derived columns. `listed`, `ranked` and `stage` follow from other columns of a row and of its topic; indexes need them. Only what is suspended
 * has a due time.
 * Verbs keep them right. Rows that were restored or copied by other means may have values that are wrong here.
 */
import { checkTopic, taskStates } from '@taskstream/task-api'
import type { Repair } from '@taskstream/task-api'
import { checkSchema } from './migrate.ts'
import { blockingClassOf, stages, states } from '../core/states.ts'
import { join, nothing, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'
import { unblocked } from './claim-singular.ts'
import { topicUnknown } from '../core/verb-context.ts'
import type { Context } from '../core/verb-context.ts'
import { toTopicMode } from '../core/topic-mode.ts'
import type { TopicMode } from '../core/topic-mode.ts'
import { toNumber } from '../core/task-row.ts'
import { enqueueIdentifiers, shareOf } from './recheck.ts'

/** How many rows one statement corrects at most. */
// mutants: equivalent number, one more or less is as good
const portion = 10_000

type Counts = Omit<Repair, 'topics' | 'sequence'>

export function* repair(context: Context, topic?: string): Verb<Repair> {
  const { dialect } = context
  if (topic !== undefined) checkTopic(topic)
  yield* checkSchema(dialect)
  // mutants: equivalent sql-order `order by p.topic`, the sums are the same in any order
  const topics = yield sql`
    select p.topic, p.ordering, p.condition, p.stage
      from ${dialect.tables.topic} p
     ${topic === undefined ? nothing : sql`where p.topic = ${topic}`}
     order by p.topic`
  if (topic !== undefined && topics.length === 0) throw yield* topicUnknown(dialect, topic)
  const total = { corrected: 0, listed: 0, noted: 0, held: 0, left: 0 }
  for (const row of topics) {
    const counts = yield* repairTopic(context, row)
    for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += counts[name]
  }
  // The sequence is moved last, because a rollback does not move it back.
  return { topics: topics.length, ...total, sequence: yield* dialect.repair.advanceSequence() }
}

function* repairTopic(context: Context, row: Row): Verb<Counts> {
  const { dialect } = context
  const topic = String(row['topic'])
  const held = yield* dialect.repair.renewTopic(topic, row['stage'] !== null)
  const mode = toTopicMode(row['ordering'], row['condition'])
  const conditional = mode.condition !== 'none'
  const plain = !conditional && mode.order === 'fifo'
  const corrected = yield* correct(context, topic, {
    stage: row['stage'] === null ? unkeyed : conditional ? stageOf : mode.order === 'shared' ? shareOfState : stages.unstaged,
    ranked: mode.order === 'priority' ? dialect.expr.true : dialect.expr.false,
    // Under a condition, polls themselves put tasks on the ready list, after a recheck.
    missed: conditional ? never : plain ? dialect.repair.passed(topic) : always,
    conditional,
  })
  const noted = conditional ? yield* noteMissed(context, topic, mode) : 0
  return { ...corrected, noted: corrected.noted + noted, held }
}

const always = raw('1 = 1')
// mutants: equivalent sql-number:2, which is not 0 either
const never = raw('1 = 0')

const unkeyed = raw('null')

/** The derived columns that a row `t` of a topic should have. */
interface Derived {
  /** The blocking class; `unkeyed` in a topic that is not keyed. */
  readonly stage: Statement
  readonly ranked: Statement
  /** True for a ready row that polls find only in the ready list. */
  readonly missed: Statement
  readonly conditional: boolean
}

/** The blocking class of a row `t`. A delayed task blocks its identifier as a ready one does. */
const stageOf = sql`case when t.state = ${states.suspended} and t.due is not null then ${stages.open} ${join(
  taskStates.map((state) => sql`when t.state = ${states[state]} then ${stages[blockingClassOf[state]]}`),
  ' ',
)} end`

/** The class of a row `t` in the order `shared`. */
const shareOfState = sql`case when t.state = ${states.ready} then ${shareOf(raw('t.priority'))} else ${stages.aside} end`

/** Corrects the rows of a topic. It skips rows that others have locked, and counts in the end those of them that are still wrong. */
function* correct(context: Context, topic: string, derived: Derived): Verb<Omit<Counts, 'held'>> {
  const { dialect } = context
  const { stage, ranked, missed } = derived
  const unlisted = sql`t.state = ${states.ready} and t.listed = ${dialect.expr.false} and ${missed}`
  const wrong = sql`(
    ${stage === unkeyed ? raw('t.stage is not null') : sql`t.stage is null or t.stage <> ${stage}`}
    or t.ranked <> ${ranked}
    or t.state > ${states.ready} and t.listed = ${dialect.expr.true}
    or t.state <> ${states.suspended} and t.due is not null
    or ${unlisted})`
  const set = sql`
    listed = case when t.state > ${states.ready} then ${dialect.expr.false} when ${unlisted} then ${dialect.expr.true} else t.listed end,
    ranked = ${ranked},
    stage = ${stage},
    due = case when t.state = ${states.suspended} then t.due end`
  const counts = { corrected: 0, listed: 0, left: 0 }
  const noted = new Set<string>()
  const passedOver: number[] = []
  for (let after = 0, more = true; more;) {
    const found = yield sql`
      select t.sequence, case when ${unlisted} then 1 else 0 end as unlisted
        from ${dialect.paths.inOrder}
       where ${dialect.paths.inTopic(topic, after)} and ${wrong}
       order by ${dialect.paths.orderBy('fifo')}
       ${dialect.expr.limit(sql`${portion}`)}`
    // mutants: equivalent condition:false, a change of no rows changes nothing
    if (found.length === 0) break
    // mutants: equivalent statement, the next portion is empty
    more = found.length === portion
    const sequences = found.map(({ sequence }) => toNumber(sequence))
    after = sequences.at(-1)!
    const returning = raw('sequence, identifier, stage')
    const rows = yield* dialect.writes.change({ topic, sequences, which: wrong, locked: 'skip', set, returning })
    const changed = new Set(rows.map(({ sequence }) => toNumber(sequence)))
    counts.corrected += changed.size
    counts.listed += found.filter(({ unlisted: was }, index) => Number(was) === 1 && changed.has(sequences[index]!)).length
    // mutants: equivalent method, those that were corrected are not wrong any more
    passedOver.push(...sequences.filter((sequence) => !changed.has(sequence)))
    if (!derived.conditional) continue
    // An identifier needs one recheck, however many of its rows were corrected.
    const identifiers = [...new Set(rows.map(({ identifier }) => String(identifier)))].filter((one) => !noted.has(one))
    yield* enqueueIdentifiers(context, topic, identifiers)
    for (const identifier of identifiers) noted.add(identifier)
  }
  // mutants: equivalent condition:true boundary, of none none is left
  if (passedOver.length > 0) {
    const [row] = yield sql`select count(*) as count from ${dialect.paths.byKeys(topic, passedOver)} and ${wrong}`
    counts.left = toNumber(row!['count'])
  }
  return { ...counts, noted: noted.size }
}

/**
 * Writes rechecks for identifiers that have no recheck yet and whose next task is neither blocked nor listed: no poll would find
 * that task. One statement reads tasks and rechecks, because a verb that frees a task commits its recheck at the same time.
 *
 * @returns how many rechecks were written
 */
function* noteMissed(context: Context, topic: string, mode: TopicMode): Verb<number> {
  const { dialect } = context
  const rows = yield sql`
    select c.identifier, 0 as noted from (${unblocked(dialect, topic, mode)}) c
     union all
    select n.identifier, 1 as noted from ${dialect.tables.turn} n where n.topic = ${topic}`
  const identifiers = (noted: number): string[] =>
    rows.filter((row) => Number(row['noted']) === noted).map(({ identifier }) => String(identifier))
  const known = new Set(identifiers(1))
  const missed = [...new Set(identifiers(0))].filter((identifier) => !known.has(identifier))
  // mutants: equivalent boundary, of none nothing is written
  for (let start = 0; start < missed.length; start += portion)
    yield* enqueueIdentifiers(context, topic, missed.slice(start, start + portion))
  return missed.length
}
