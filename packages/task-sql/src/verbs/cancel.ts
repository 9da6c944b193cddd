import type { Cancellation, TaskSelector } from '@taskstream/task-api'
import { reasons, stateNumbers, states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import { toNumber, toTask } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { enqueueRechecks, setBlockingClass } from './recheck.ts'
import { lockNamed } from './selector.ts'

/** Tasks that have not ended. */
const unended = sql`t.state in (${states.active}, ${states.ready}, ${states.expired}, ${states.suspended})`

export function* cancel(context: Context, topic: string, selector: TaskSelector): Verb<Cancellation> {
  const { dialect, now } = context
  const rows = yield* lockNamed(context, 'cancel', topic, selector, unended, raw('t.sequence, t.identifier, t.state, t.stage'))
  // mutants: equivalent condition:false, a change of no rows changes nothing
  if (rows.length === 0) return { cancelled: [], taken: [] }
  // The fence of a completion asks for an active row, so what was at work is lost to its owner from here on.
  yield* dialect.writes.change({
    topic,
    sequences: rows.map((row) => toNumber(row['sequence'])),
    // mutants: equivalent lock, the rows are locked already
    locked: 'wait',
    set: sql`
      state = ${states.filtered},
      listed = ${dialect.expr.false},
      reason = ${reasons.cancelled},
      due = null,
      completed = ${dialect.expr.now(now())},
      ${setBlockingClass('ended')}`,
  })
  yield* enqueueRechecks(context, topic, rows)
  const taken = rows.filter((row) => toNumber(row['state']) === stateNumbers.active)
  return { cancelled: rows.map((row) => toTask(topic, row)), taken: taken.map((row) => toTask(topic, row)) }
}
