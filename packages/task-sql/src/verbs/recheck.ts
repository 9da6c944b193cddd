/**
 * What singular conditions are kept with. A topic with a condition has, for each row, a stage: an index finds what stands in the
 * way of an identifier's next task without reading its history. Whatever changes a stage notes the identifier in the table of
 * turns, in the same transaction and without waiting for anybody; polls look into noted identifiers and list their heads
 * (claim-singular.ts).
 */
import type { Dialect } from '../core/dialect.ts'
import { blockingClasses, stages } from '../core/states.ts'
import type { BlockingClass } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'

/** For the `set` of an update of `task as t`: the row's new stage, where it has stages. */
export function setBlockingClass(stage: BlockingClass | Statement): Statement {
  const number = typeof stage === 'string' ? stages[stage] : stage
  return sql`stage = case when t.stage < ${stages.unstaged} then ${number} else t.stage end`
}

/** Rows that an update returned with `identifier` and `stage`, of one topic: notes whose turn may have come. */
export function enqueueRechecks(context: Context, topic: string, rows: readonly Row[]): Verb<void> {
  const staged = rows.filter(({ stage }) => stage !== null && stage !== undefined && Number(stage) < blockingClasses.unstaged)
  return enqueueIdentifiers(
    context,
    topic,
    staged.map(({ identifier }) => String(identifier)),
  )
}

/** The same for rows that were deleted: what had ended before was in nobody's way. */
export function enqueueRechecksOfDeleted(context: Context, topic: string, rows: readonly Row[]): Verb<void> {
  return enqueueRechecks(
    context,
    topic,
    rows.filter(({ stage }) => Number(stage) !== blockingClasses.ended),
  )
}

/** Deletes rows that were found and locked before. @returns what `noteDeleted` asks for */
export function removeRows(dialect: Dialect, topic: string, keys: readonly number[]): Verb<readonly Row[]> {
  return dialect.writes.remove({ table: dialect.tables.task, key: 'sequence', topic, keys, returning: raw('identifier, stage') })
}

export function* enqueueIdentifiers({ dialect }: Context, topic: string, identifiers: readonly string[]): Verb<void> {
  // mutants: equivalent boundary condition:true, without any nothing is written
  if (identifiers.length > 0) yield noteStatement(dialect, topic, [...new Set(identifiers)])
}

function noteStatement(dialect: Dialect, topic: string, identifiers: readonly string[]): Statement {
  return dialect.writes.insertAndWake({
    table: dialect.tables.turn,
    topic,
    columns: raw('topic, identifier'),
    values: raw('p.topic, r.identifier'),
    from: dialect.expr.rows([{ name: 'identifier', type: 'text', values: identifiers }]),
  })
}
