import type { Claims, Dialect, Expressions, Plans, Repairs, SessionStatements, TopicStatements, Writes } from './dialect.ts'
import { nothing, raw, sql } from './statement.ts'

/** A dialect without what has a default: an engine says what it needs, and no more. */
export interface DialectParts extends Pick<Dialect, 'tables' | 'schema' | 'paths' | 'locks' | 'classify'> {
  readonly expr: Optional<Expressions, 'latest' | 'conditionColumn'>
  readonly writes: Optional<Writes, 'insertAndWake'>
  readonly claims: Optional<Claims, 'record' | 'tidy'>
  readonly repair?: Partial<Repairs>
  readonly topics?: Partial<TopicStatements>
  readonly plans?: Plans
  readonly session?: Partial<SessionStatements>
}

type Optional<Type, Names extends keyof Type> = Omit<Type, Names> & Partial<Pick<Type, Names>>

/**
 * A dialect of its parts. What is left out is what the simplest engine does: nobody is woken, nothing is kept beside the tasks, and the
 * index of active rows is exact.
 *
 * @example
 * const dialect = defineDialect({ tables, schema, expr, paths, writes, locks, claims, classify: () => undefined })
 */
export function defineDialect({ expr, writes, claims, repair, topics, plans, session, ...parts }: DialectParts): Dialect {
  return {
    ...parts,
    expr: { latest: nothing, conditionColumn: 'condition', ...expr },
    writes: { insertAndWake: plainInsertion(parts), ...writes },
    claims: { record: none, tidy: none, ...claims },
    repair: { renewTopic: zero, passed: () => raw('1 = 0'), advanceSequence: ahead, ...repair },
    topics: { open: () => [], close: () => [], notify: () => [], ...topics },
    plans: plans ?? anyPlan,
    session: { analyze: [], limitStatements: () => [], ...session },
  }
}

/** Index hints fix the plans of these statements, so the size of the table does not matter. */
export const anyPlan: Plans = { sizeClass: () => undefined, tableBytes: raw('0'), learn: () => {} }

function plainInsertion({ tables }: Pick<Dialect, 'tables'>): Writes['insertAndWake'] {
  return ({ table, topic, columns, values, from }) => sql`
    insert into ${table} (${columns})
    select ${values}
      from ${tables.topic} p, ${from}
     where p.topic = ${topic}`
}

function* none(): ReturnType<Claims['tidy']> {
  // There is nothing to ask the database.
}

// oxlint-disable-next-line require-yield -- there is nothing to ask the database
function* zero(): ReturnType<Repairs['renewTopic']> {
  return 0
}

// oxlint-disable-next-line require-yield -- there is nothing to ask the database
function* ahead(): ReturnType<Repairs['advanceSequence']> {
  return 'ahead'
}
