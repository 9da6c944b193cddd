/**
 * The bookkeeping of singular conditions. In a topic with a condition every row has a blocking class (column `stage`). By an index
 * on that column, a poll finds the tasks that block an identifier without reading its history.
 *
 * A verb that may free another task of an identifier writes a recheck of that identifier (table `task_turn`), in the same transaction and
 * without waiting. The next poll processes the recheck: it puts the first task of the identifier on the ready list (claim-singular.ts).
 */
import type { Dialect } from '../core/dialect.ts'
import { blockingClasses, stages } from '../core/states.ts'
import type { BlockingClass } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'

/** An assignment for an update of `task as t` that leaves the row other than ready: its new blocking class, if its topic has a condition. */
export function setBlockingClass(stage: BlockingClass | Statement): Statement {
  return setStage(typeof stage === 'string' ? stages[stage] : stage, stages.aside)
}

/** The same for a row that becomes ready. */
export function setReadyClass(): Statement {
  return setStage(stages.open, shareOf(raw('t.priority')))
}

/** @param blocking the new class under a condition @param share the new class in the order `shared` */
export function setStage(blocking: Statement, share: Statement): Statement {
  return sql`stage = case when t.stage <= ${stages.ended} then ${blocking} when t.stage <= ${stages.aside} then ${share} else t.stage end`
}

/** The class of a ready row in the order `shared`. */
export function shareOf(priority: Statement): Statement {
  return sql`case when ${priority} < 0 then ${stages.low} else ${stages.high} end`
}

/** Writes rechecks for changed rows of one topic, of which `identifier` and `stage` are given. Rows without a blocking class need none. */
export function enqueueRechecks(context: Context, topic: string, rows: readonly Row[]): Verb<void> {
  const staged = rows.filter(({ stage }) => stage !== null && Number(stage) <= blockingClasses.ended)
  return enqueueIdentifiers(
    context,
    topic,
    staged.map(({ identifier }) => String(identifier)),
  )
}

/** Writes rechecks for deleted rows. A row that had ended did not block other tasks and needs none. */
export function enqueueRechecksOfDeleted(context: Context, topic: string, rows: readonly Row[]): Verb<void> {
  return enqueueRechecks(
    context,
    topic,
    // mutants: equivalent method condition:true, a recheck that is not needed changes nothing
    rows.filter(({ stage }) => Number(stage) !== blockingClasses.ended),
  )
}

export function* enqueueIdentifiers({ dialect }: Context, topic: string, identifiers: readonly string[]): Verb<void> {
  // mutants: equivalent boundary condition:true, an insert of no rows writes nothing
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
