import type {
  AccessPaths,
  Claims,
  Dialect,
  Expressions,
  Glimpse,
  Plans,
  Repairs,
  SessionStatements,
  TopicStatements,
  Writes,
} from './dialect.ts'
import { commonExamination } from './examination.ts'
import type { Examination } from './examination.ts'
import { nothing, raw, sql } from './statement.ts'
import type { Statement } from './statement.ts'
import { states } from './states.ts'

/** The parts of a dialect. Members that have a default may be left out. */
export interface DialectParts extends Pick<
  Dialect,
  'system' | 'tables' | 'schema' | 'locks' | 'coordination' | 'classify' | 'ranges'
> {
  readonly expr: Optional<Expressions, keyof CommonExpressions>
  readonly paths: Optional<AccessPaths, keyof CommonPaths>
  readonly writes: Optional<Writes, 'insertAndWake' | 'removeOf'>
  readonly claims: Optional<Claims, 'alsoSet' | 'record' | 'tidy' | 'glimpses'>
  readonly repair?: Partial<Repairs>
  readonly topics?: Partial<TopicStatements>
  readonly plans?: Plans
  readonly session?: Partial<SessionStatements>
  readonly examination?: Partial<Examination>
}

/** What most engines say alike. */
type CommonExpressions = Pick<
  Expressions,
  | 'instant'
  | 'plusMs'
  | 'epochMs'
  | 'json'
  | 'text'
  | 'true'
  | 'false'
  | 'withRecursive'
  | 'latest'
  | 'shared'
  | 'alone'
  | 'limitInOrder'
  | 'conditionColumn'
>
type CommonPaths = Pick<
  AccessPaths,
  | 'byKey'
  | 'byExternalIds'
  | 'inTopic'
  | 'ready'
  | 'inOrder'
  | 'inReadyList'
  | 'identified'
  | 'attempts'
  | 'attemptsOf'
  | 'orderByEnd'
  | 'byDue'
>

type Optional<Type, Names extends keyof Type> = Omit<Type, Names> & Partial<Pick<Type, Names>>

/**
 * Makes a dialect of its parts. The defaults suit the simplest engine: it stores instants as epoch milliseconds and headers as text, needs no
 * index hints, wakes no listeners, keeps no tables beside those of the tasks, and finds active rows by an index.
 *
 * @example
 * const dialect = defineDialect({ tables, schema, expr, paths, writes, locks, claims, classify: () => undefined })
 */
export function defineDialect({
  expr,
  paths,
  writes,
  claims,
  repair,
  topics,
  plans,
  session,
  examination,
  ...parts
}: DialectParts): Dialect {
  return {
    ...parts,
    expr: { ...commonExpressions, limitInOrder: expr.limit, ...expr },
    paths: { ...commonPaths(parts, expr), ...paths },
    writes: { insertAndWake: plainInsertion(parts), removeOf, ...writes },
    claims: { alsoSet: nothing, record: none, tidy: none, glimpses: oneByOne(parts, claims), ...claims },
    repair: { renewTopic: zero, passed: () => raw('1 = 0'), advanceSequence: ahead, ...repair },
    topics: { open: () => [], close: () => [], notify: () => [], wake: () => [], ...topics },
    plans: plans ?? anyPlan,
    session: { analyze: [], limitStatements: () => [], ...session },
    examination: { ...commonExamination, ...examination },
  }
}

const commonExpressions: Omit<CommonExpressions, 'limitInOrder'> = {
  instant: (epochMs) => epochMs,
  plusMs: (instant, ms) => sql`(${instant} + ${ms})`,
  epochMs: (column) => column,
  json: (text) => text,
  text: (value) => sql`cast(${value} as text)`,
  true: raw('1'),
  false: raw('0'),
  withRecursive: raw('with recursive'),
  latest: nothing,
  shared: nothing,
  alone: nothing,
  conditionColumn: 'condition',
}

/** Looks at each topic by a select of its own. */
function oneByOne(
  { tables }: Pick<Dialect, 'tables'>,
  { countOpen }: Pick<Claims, 'countOpen'>,
): (topics: readonly string[]) => readonly Glimpse[] {
  const ready = countOpen('ready', 1)
  return (topics) =>
    topics.map((topic) => ({ from: sql`${tables.topic} p where p.topic = ${topic}`, topic: sql`${topic}`, ready }))
}

function commonPaths({ tables }: Pick<Dialect, 'tables'>, { rows }: Pick<Expressions, 'rows'>): CommonPaths {
  return {
    byExternalIds: (topic, values) => sql`
      ${rows([{ name: 'external_id', type: 'text', values }])}
      join ${tables.task} t on t.external_id = r.external_id
     where t.topic = ${topic} and t.external_id is not null`,
    byKey: (topic, sequence) => sql`t.topic = ${topic} and t.sequence = ${sequence}`,
    inTopic: (topic, after = 0, before = Number.MAX_SAFE_INTEGER) =>
      sql`t.topic = ${topic} and t.sequence > ${after} and t.sequence < ${before}`,
    ready: sql`t.state = ${states.ready}`,
    inOrder: sql`${tables.task} t`,
    inReadyList: () => sql`${tables.task} t`,
    identified: (name) => sql`${tables.task} ${raw(name)}`,
    attempts: (_by, name = 't') => sql`${tables.attempt} ${raw(name)}`,
    attemptsOf: ({ topic, fingerprint, since }) =>
      sql`t.topic = ${topic}${fingerprint === undefined ? nothing : sql` and t.fingerprint = ${fingerprint}`}${since === undefined ? nothing : sql` and t.ended >= ${since}`}`,
    orderByEnd: (_by, direction) => raw(`t.ended ${direction}`),
    byDue: (topic, which) =>
      sql`${tables.task} t
     where t.topic = ${topic} and t.due is not null and ${which}
     order by t.topic, t.due`,
  }
}

/** Index hints fix the plans of these statements, so the size of the table does not matter. */
export const anyPlan: Plans = { sizeClass: () => undefined, tableBytes: raw('0'), learn: () => {} }

function removeOf(table: Statement, topic: string): Statement {
  return sql`delete from ${table} where topic = ${topic}`
}

function plainInsertion({ tables }: Pick<Dialect, 'tables'>): Writes['insertAndWake'] {
  return ({ table, topic, columns, values, from }) => sql`
    insert into ${table} (${columns})
    select ${values}
      from ${tables.topic} p, ${from}
     where p.topic = ${topic}`
}

function* none(): ReturnType<Claims['tidy']> {
  // This default sends no statement.
}

// oxlint-disable-next-line require-yield -- there is nothing to ask the database
function* zero(): ReturnType<Repairs['renewTopic']> {
  return 0
}

// oxlint-disable-next-line require-yield -- there is nothing to ask the database
function* ahead(): ReturnType<Repairs['advanceSequence']> {
  return 'ahead'
}
