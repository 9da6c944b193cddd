import { checkInteger, checkNames, checkTopic, invalid, TaskError, taskLimits, verbOptions } from '@taskstream/task-api'
import type { Insertion, PushedTask, PushOptions, TaskCreation, TaskRecord, TaskState } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import type { RowColumn, TaskInsertion } from '../core/requests.ts'
import { blockingClasses, stages, stateNumbers, states } from '../core/states.ts'
import type { BlockingClass } from '../core/states.ts'
import { nothing, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'
import { topicUnknown } from '../core/verb-context.ts'
import type { Context } from '../core/verb-context.ts'
import { checkCreation } from './creation.ts'
import type { CheckedCreation, HeaderTexts } from './creation.ts'
import { removeOlder, whichCount } from './insertion.ts'
import { shareOf } from './recheck.ts'
import { conditionNumber, orderNumber } from '../core/topic-mode.ts'
import { isOtherRecord, recordOf } from './record-of.ts'
import { toNumber } from '../core/task-row.ts'
import { checkKeyed, checkKnown } from './topics.ts'

const insertions: readonly Insertion[] = ['append', 'supersede', 'replace', 'delete']

export function* push(
  context: Context,
  topic: string,
  creations: string | TaskCreation | readonly (string | TaskCreation)[],
  options: PushOptions = {},
): Verb<PushedTask[]> {
  checkNames(verbOptions.push, options)
  const { insertion = 'append' } = options
  checkTopic(topic)
  if (!insertions.includes(insertion)) throw invalid('insertion', insertion, `must be one of ${insertions.join(', ')}`)
  const list = (Array.isArray(creations) ? creations : [creations]) as readonly (string | TaskCreation)[]
  checkInteger('the number of creations', list.length, 0, taskLimits.batchSize)
  if (list.length === 0) return []
  // A hole of a list counts as undefined, which `map` would pass over.
  const texts: HeaderTexts = new Map()
  const checked = [...list].map((creation, index) =>
    checkCreation(creation, list.length > 1 ? `creations[${index}].` : '', texts),
  )
  if (insertion !== 'append') return yield* pushAndRemove(context, topic, checked, insertion)
  return yield* insert(context, topic, checked)
}

/**
 * Pushes, and then removes the older tasks of the same identifiers. Older tasks stay if the creation that counts is a duplicate, as
 * the task that it stands for may be one of them.
 */
function* pushAndRemove(
  context: Context,
  topic: string,
  creations: readonly CheckedCreation[],
  insertion: Exclude<Insertion, 'append'>,
): Verb<PushedTask[]> {
  yield* checkKeyed(context, topic, insertion)
  const counts = whichCount(creations)
  const kept = insertion === 'delete' ? creations.filter(counts) : creations
  const marked = kept.map((creation) => (counts(creation) ? creation : { ...creation, plain: false, redundant: true }))
  const tasks = yield* insert(context, topic, marked)
  const created = tasks.filter(({ outcome }) => outcome === 'created')
  if (created.length === 0) return tasks
  const identifiers = created.map(({ identifier }) => identifier)
  // The sequence of a duplicate must not lower `first`: tasks before `first` count as older.
  const first = tasks.find(({ outcome }) => outcome !== 'duplicate')!.sequence
  const superseded = yield* removeOlder(context, topic, insertion, identifiers, first)
  return tasks.map((task) => (task.outcome === 'created' ? { ...task, superseded: superseded.get(task.identifier) ?? 0 } : task))
}

function* insert(context: Context, topic: string, checked: readonly CheckedCreation[]): Verb<PushedTask[]> {
  const tasks = yield* insertAs(context, topic, checked)
  if (tasks) return tasks
  return (yield* insertAs(context, topic, checked)) ?? (yield* unknown(context, topic))
}

function* unknown({ dialect }: Context, topic: string): Verb<never> {
  throw yield* topicUnknown(dialect, topic)
}

/** @returns undefined if the topic keeps something else than was thought, which is known now */
function* insertAs(context: Context, topic: string, checked: readonly CheckedCreation[]): Verb<PushedTask[] | undefined> {
  const heads = headsOf(checked)
  const record = recordOf(context, topic)
  const { headers } = checked[0]!
  // mutants: equivalent condition:false result, the other statement inserts the same rows more slowly
  if (checked.every((creation) => creation.plain && creation.headers === headers)) {
    const insertion = insertPlain(context, topic, checked, heads, headers)
    const sequences = yield* context.dialect.writes.inserted(insertion, topic, checked.length)
    if (sequences.length === 0) {
      if (yield* isOtherRecord(context, topic, record)) return undefined
      throw yield* topicUnknown(context.dialect, topic)
    }
    // Sequences ascend in the order of the rows given.
    return checked.map(({ identifier }, index) => ({ topic, sequence: sequences[index]!, identifier, outcome: 'created' }))
  }
  const known = context.dialect.writes.locksTaken ? yield* knownOf(context, topic, checked) : nobody
  const absent = known.size === 0 ? checked : checked.filter(({ externalId }) => externalId === null || !known.has(externalId))
  const insertion = (): TaskInsertion => anyInsertion(context, topic, absent, absent === checked ? heads : headsOf(absent))
  const inserted = absent.length === 0 ? [] : yield* context.dialect.writes.insertNew(insertion())
  if (inserted.length === 0 && absent.length > 0 && (yield* isOtherRecord(context, topic, record))) return undefined
  // The database may return the rows in any order.
  const rows = inserted.toSorted((left, right) => toNumber(left['sequence']) - toNumber(right['sequence']))
  if (rows.length === absent.length) return toPushedTasks(topic, checked, rows, known.size > 0 ? known : undefined)
  return toPushedTasks(topic, checked, rows, yield* findDuplicates(context, topic, checked, rows))
}

type PlainCreation = Pick<CheckedCreation, 'identifier' | 'input'>

/**
 * Most pushes carry identifiers and inputs only, and many just one of each. Headers that all have in common, such as the context of a trace, are one
 * value.
 */
function insertPlain(
  context: Context,
  topic: string,
  creations: readonly CheckedCreation[],
  heads: readonly number[] | undefined,
  headers: string | null,
): Statement {
  const first = creations[0]!
  // mutants: equivalent condition:true number:0 boundary, templates only spare the writing of the text
  if (creations.length > 1 || headers !== null || context.now() !== null)
    return writePlain(context, topic, creations, heads, headers, recordOf(context, topic))
  const { identifier, input } = first
  const record = recordOf(context, topic)
  return context.single.fill(record, { topic, identifier, input }, (places) =>
    writePlain(context, places.topic, [places], heads, null, record),
  )
}

function writePlain(
  { dialect, now }: Context,
  topic: string,
  creations: readonly PlainCreation[],
  heads: readonly number[] | undefined,
  headers: string | null,
  record: TaskRecord,
): Statement {
  const columns: RowColumn[] = [
    { name: 'identifier', type: 'text', values: creations.map(({ identifier }) => identifier) },
    { name: 'input', type: 'text', values: creations.map(({ input }) => input) },
    ...headColumn(heads),
  ]
  return dialect.writes.insertion({
    topic,
    wake: true,
    columns: raw(`topic, identifier, input, created, listed, ranked, stage${headers === null ? '' : ', headers'}`),
    values: sql`p.topic, r.identifier, r.input, ${dialect.expr.now(now())}, ${listing(dialect, heads)}, p.ranking, p.stage${
      headers === null ? nothing : sql`, ${dialect.expr.json(sql`${headers}`)}`
    }`,
    from: dialect.expr.rows(columns),
    count: creations.length,
    record,
  })
}

const allColumns = raw(`topic, identifier, input, created, reference, external_id, headers, priority, max_tries, state, descent,
                  due, deadline, listed, ranked, stage`)
const given = {
  headers: raw('r.headers'),
  due: raw('r.due'),
  delay: raw('r.delay'),
  deadline: raw('r.deadline'),
  deadlineDelay: raw('r.deadline_delay'),
}

function anyInsertion(
  context: Context,
  topic: string,
  creations: readonly CheckedCreation[],
  heads: readonly number[] | undefined,
): TaskInsertion {
  const { dialect, now } = context
  const text = (name: string, pick: (creation: CheckedCreation) => string | null): RowColumn => ({
    name,
    type: 'text',
    values: creations.map(pick),
  })
  const integer = (name: string, pick: (creation: CheckedCreation) => number | null): RowColumn => ({
    name,
    type: 'integer',
    values: creations.map(pick),
  })
  const columns = [
    text('identifier', ({ identifier }) => identifier),
    text('input', ({ input }) => input),
    text('reference', ({ reference }) => reference),
    text('external_id', ({ externalId }) => externalId),
    text('headers', ({ headers }) => headers),
    integer('priority', ({ priority }) => priority),
    integer('max_tries', ({ maxTries }) => maxTries),
    integer('state', (creation) => stateNumbers[stateOf(creation)]),
    integer('descent', (creation) => stateNumbers[waits(creation) ? 'suspended' : 'ready']),
    integer('stage', (creation) => blockingClasses[classOf(creation)]),
    integer('deadline', ({ deadline }) => deadline),
    integer('deadline_delay', ({ deadlineMs }) => deadlineMs),
    // A task that is pushed suspended gets no due time: it waits until a call makes it ready.
    integer('due', ({ suspended, redundant, dueMs }) => (suspended || redundant ? null : dueMs)),
    integer('delay', ({ suspended, redundant, delayMs }) => (suspended || redundant ? null : delayMs)),
    ...headColumn(heads),
  ]
  const created = dialect.expr.now(now())
  const instant = (at: Statement, delay: Statement): Statement =>
    sql`case when ${at} is not null then ${dialect.expr.instant(at)}
             when ${delay} is not null then ${dialect.expr.plusMs(created, delay)} end`
  return {
    topic,
    // A delayed task wakes listeners too, so that they do not sleep past its due time.
    wake: creations.some(({ suspended }) => !suspended),
    columns: allColumns,
    values: sql`
           p.topic, r.identifier, r.input, ${created}, r.reference, r.external_id, ${dialect.expr.json(given.headers)},
           r.priority, r.max_tries, r.state, r.descent, ${instant(given.due, given.delay)}, ${instant(given.deadline, given.deadlineDelay)},
           case when r.state = ${states.ready} then ${listing(dialect, heads)} else ${dialect.expr.false} end, p.ranking,
           case when p.stage = ${stages.open} then r.stage
                when p.stage = ${stages.high} then case when r.state = ${states.ready} then ${shareOf(raw('r.priority'))} else ${stages.aside} end
                else p.stage end`,
    from: dialect.expr.rows(columns),
    count: creations.length,
    record: recordOf(context, topic),
  }
}

/** Flags of a creation: within its push, it is the first of its identifier, or the last. In `lifo` topics the last one is polled first. */
const headOf = { first: 1, last: 2 } as const

/**
 * For each creation, the bits of `headOf`; undefined if no identifier occurs twice. Of several creations of an identifier in one
 * push only one can be its first task: the first creation, or in `lifo` the last. The others stay off the ready list, as if a poll
 * had found them blocked (claim-singular.ts). If a creation has an external id it may turn out to be a duplicate: then all
 * creations of its identifier are listed, as nobody knows yet which will be first.
 */
function headsOf(creations: readonly CheckedCreation[]): readonly number[] | undefined {
  // Most pushes have each identifier once. They need only this check.
  // mutants: equivalent condition:false result, without repeated identifiers each task is a head
  if (new Set(creations.map(({ identifier }) => identifier)).size === creations.length) return undefined
  const numbers = creations.map(() => headOf.first | headOf.last)
  const ready = [...creations.keys()].filter((index) => isReady(creations[index]!))
  for (const indexes of Map.groupBy(ready, (index) => creations[index]!.identifier).values()) {
    if (indexes.some((index) => creations[index]!.externalId !== null)) continue
    for (const index of indexes)
      numbers[index] = (index === indexes[0] ? headOf.first : 0) | (index === indexes.at(-1) ? headOf.last : 0)
  }
  return numbers
}

function headColumn(values: readonly number[] | undefined): RowColumn[] {
  return values ? [{ name: 'head', type: 'integer', values }] : []
}

/** Whether a task that is pushed ready goes on the ready list. */
function listing(dialect: Dialect, values: readonly number[] | undefined): Statement {
  if (!values) return listedAtOnce(dialect)
  const head = `case when p.ordering = ${orderNumber('lifo')} then ${headOf.last} else ${headOf.first} end`
  const isHead = raw(`(p.condition = ${conditionNumber('none')} or r.head in (${head}, ${headOf.first | headOf.last}))`)
  return sql`case when ${listedAtOnce(dialect)} = ${dialect.expr.true} and ${isHead} then ${dialect.expr.true} else ${dialect.expr.false} end`
}

/** Whether the topic `p` puts new ready tasks on the ready list. A push leaves out tasks that another task of the push blocks. */
export function listedAtOnce({ writes: { mustList } }: Dialect): Statement {
  return mustList ? sql`(p.listing or ${mustList})` : raw('p.listing')
}

function isReady(creation: CheckedCreation): boolean {
  return !creation.redundant && !waits(creation)
}

function waits({ suspended, dueMs, delayMs }: CheckedCreation): boolean {
  return suspended || dueMs !== null || delayMs !== null
}

function stateOf(creation: CheckedCreation): TaskState {
  if (creation.redundant) return 'redundant'
  return waits(creation) ? 'suspended' : 'ready'
}

function classOf({ redundant, suspended }: CheckedCreation): BlockingClass {
  if (redundant) return 'ended'
  return suspended ? 'suspended' : 'open'
}

/**
 * The tasks that have the external ids of this push, by external id. Earlier pushes made them, or this one.
 *
 * @throws TaskError TOPIC_UNKNOWN; TRANSACTION_CONFLICT if an external id was taken, and is free now
 */
function* findDuplicates(
  context: Context,
  topic: string,
  creations: readonly CheckedCreation[],
  inserted: readonly Row[],
): Verb<ReadonlyMap<string, Row>> {
  const { dialect } = context
  const externalIds = [...new Set(creations.flatMap(({ externalId }) => externalId ?? []))]
  // A known topic takes in every creation that has no external id.
  if (externalIds.length === 0) throw yield* topicUnknown(dialect, topic)
  // A separate statement sees tasks that another push has committed since the insert began.
  const found = yield* findNamed(context, topic, externalIds)
  // mutants: equivalent condition:true logic, a topic that is known is no error
  if (inserted.length === 0 && found.size === 0) yield* checkKnown(context, topic)
  // An insert that passes over a taken external id need not lock its task, so a purge may commit before the task is looked for.
  if (externalIds.some((externalId) => !found.has(externalId))) throw wasDeleted(topic)
  return found
}

const nobody: ReadonlyMap<string, Row> = new Map()

/** The tasks whose external ids are seen to be taken, by external id. Others may take some at this moment. */
function* knownOf(context: Context, topic: string, creations: readonly CheckedCreation[]): Verb<ReadonlyMap<string, Row>> {
  const externalIds = [...new Set(creations.flatMap(({ externalId }) => externalId ?? []))]
  if (externalIds.length === 0) return nobody
  const seen = yield sql`select t.external_id from ${context.dialect.paths.byExternalIds(topic, externalIds)}`
  if (seen.length === 0) return nobody
  // Only what is there is read again with a lock: of what is not there the lock would be on the place where others insert.
  return yield* findNamed(
    context,
    topic,
    seen.map((row) => String(row['external_id'])),
  )
}

/** The latest tasks with these external ids, by external id. */
function* findNamed({ dialect }: Context, topic: string, externalIds: readonly string[]): Verb<ReadonlyMap<string, Row>> {
  const rows = yield sql`
    select t.sequence, t.identifier, t.external_id
      from ${dialect.paths.byExternalIds(topic, externalIds)}
     ${dialect.expr.latest}`
  return new Map(rows.map((row) => [String(row['external_id']), row]))
}

function wasDeleted(topic: string): TaskError {
  return new TaskError(
    'TRANSACTION_CONFLICT',
    `A task of topic "${topic}" that had an external id of this push was deleted meanwhile: roll back and run the whole transaction again`,
    { topic },
  )
}

function toPushedTasks(
  topic: string,
  creations: readonly CheckedCreation[],
  inserted: readonly Row[],
  duplicates: ReadonlyMap<string, Row> | undefined,
): PushedTask[] {
  const created = new Set(duplicates && inserted.map((row) => row['external_id']))
  let next = 0
  return creations.map(({ identifier, externalId, redundant }) => {
    const first =
      externalId !== null && duplicates !== undefined && !created.delete(externalId) ? duplicates.get(externalId) : undefined
    if (first)
      return { topic, sequence: toNumber(first['sequence']), identifier: String(first['identifier']), outcome: 'duplicate' }
    // mutants: equivalent optional, each creation that is no duplicate has a row
    return { topic, sequence: toNumber(inserted[next++]?.['sequence']), identifier, outcome: redundant ? 'redundant' : 'created' }
  })
}
