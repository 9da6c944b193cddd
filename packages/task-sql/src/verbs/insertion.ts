import type { Insertion } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import { states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import type { CheckedCreation } from './creation.ts'
import { isIn } from './filter-state.ts'
import { enqueueRechecksOfDeleted, enqueueRechecks, setBlockingClass } from './recheck.ts'
import { removeTasks } from './removal.ts'

/**
 * The older rows `t` that each insertion removes (suite/insertion.ts). `supersede` removes tasks that are still to be done, so that
 * older data is not processed after newer data. `replace` also removes tasks that have ended, and `delete` redundant and recreated
 * ones too. Active tasks are never removed.
 */
const olderOf: Readonly<Record<Exclude<Insertion, 'append'>, (dialect: Dialect) => Statement>> = {
  supersede: (dialect) => sql`(${isIn(dialect, 'ready')} or ${isIn(dialect, 'delayed')} or ${isIn(dialect, 'blocked')})`,
  replace: () => sql`t.state between ${states.ready} and ${states.succeeded}`,
  delete: () => sql`t.state between ${states.ready} and ${states.redundant}`,
}

/**
 * Deletes the older tasks of these identifiers, or makes them redundant, as the insertion says. Tasks that other transactions have
 * locked are skipped. Tasks before the sequence `first` are older.
 *
 * @returns how many tasks were removed, by identifier
 */
export function* removeOlder(
  context: Context,
  topic: string,
  insertion: Exclude<Insertion, 'append'>,
  identifiers: readonly string[],
  first: number,
): Verb<ReadonlyMap<string, number>> {
  const { dialect } = context
  // Because of the sum, the planner looks up each identifier, instead of reading all older rows of the topic.
  // mutants: equivalent sql-arithmetic, a sum with 0 or a difference
  const which = sql`t.sequence + 0 < ${first} and ${olderOf[insertion](dialect)}`
  const sequences = yield* dialect.locks.identified(topic, [...new Set(identifiers)], which, 'skip')
  // mutants: equivalent condition:false, a change of no rows changes nothing
  if (sequences.length === 0) return new Map()
  const rows =
    insertion === 'delete'
      ? yield* removeTasks(dialect, topic, sequences)
      : yield* dialect.writes.change({
          topic,
          sequences,
          // mutants: equivalent lock, the rows are locked already
          locked: 'wait',
          // mutants: equivalent sql-boundary `t.state > t.descent`, of two that are equal either is right
          set: sql`
            descent = case when t.state > t.descent then t.state else t.descent end,
            state = ${states.redundant},
            listed = ${dialect.expr.false},
            due = null,
            ${setBlockingClass('ended')}`,
          returning: raw('identifier, stage'),
        })
  // mutants: equivalent condition:false, a recheck that is not needed changes nothing
  yield* (insertion === 'delete' ? enqueueRechecksOfDeleted : enqueueRechecks)(context, topic, rows)
  const counts = new Map<string, number>()
  for (const row of rows) {
    const identifier = String(row['identifier'])
    counts.set(identifier, (counts.get(identifier) ?? 0) + 1)
  }
  return counts
}

/**
 * Of several creations of an identifier only the last counts (suite/insertion.ts, 'only the last counts'). One that repeats an
 * external id will be a duplicate of the first with that external id, so it counts if the first does.
 */
export function whichCount(creations: readonly CheckedCreation[]): (creation: CheckedCreation) => boolean {
  const named = new Map(creations.toReversed().map((creation) => [creation.externalId, creation]))
  const firstOf = (creation: CheckedCreation): CheckedCreation =>
    creation.externalId === null ? creation : named.get(creation.externalId)!
  const firsts = creations.filter((creation) => firstOf(creation) === creation)
  const last = new Map(firsts.map((creation) => [creation.identifier, creation]))
  return (creation) => last.get(firstOf(creation).identifier) === firstOf(creation)
}
