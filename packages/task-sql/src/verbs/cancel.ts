import type { Cancellation, TaskSelector } from '@taskstream/task-api'
import { reasons, states } from '../core/states.ts'
import { sql } from '../core/statement.ts'
import { takeHeld, toNumber, toTask } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { filterStateNumber, toFilterState } from './filter-state.ts'
import { enqueueRechecks, setBlockingClass } from './recheck.ts'
import { lockNamed } from './selector.ts'

/** Tasks that have not ended. */
const unended = sql`t.state in (${states.active}, ${states.ready}, ${states.expired}, ${states.suspended})`

export function* cancel(context: Context, topic: string, selector: TaskSelector): Verb<Cancellation> {
  const { dialect, now } = context
  const columns = sql`t.sequence, t.identifier, ${filterStateNumber(dialect)} as state, t.stage`
  const rows = yield* lockNamed(context, 'cancel', topic, selector, unended, columns)
  // mutants: equivalent condition:false, a change of no rows changes nothing
  if (rows.length === 0) return { cancelled: [], taken: [] }
  // The fence of a completion asks for an active row, so what was at work is lost to its owner from here on.
  yield* dialect.writes.change({
    topic,
    sequences: rows.map((row) => toNumber(row['sequence'])),
    // mutants: equivalent lock, the rows are locked already
    locked: 'wait',
    set: sql`
      ${takeHeld(dialect)}state = ${states.filtered},
      listed = ${dialect.expr.false},
      reason = ${reasons.cancelled},
      due = null,
      completed = ${dialect.expr.now(now())},
      ${setBlockingClass('ended')}`,
  })
  yield* enqueueRechecks(context, topic, rows)
  const taken = rows.filter((row) => toFilterState(row['state']) === 'active')
  return { cancelled: rows.map((row) => toTask(topic, row)), taken: taken.map((row) => toTask(topic, row)) }
}
