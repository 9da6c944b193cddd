import { checkRescheduling } from '@taskstream/task-api'
import type { Rescheduling, Task, TaskSelector } from '@taskstream/task-api'
import { dueMsOf } from '../core/blocked.ts'
import type { Dialect } from '../core/dialect.ts'
import { stages, states } from '../core/states.ts'
import { join, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toNumber, toTask } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { isInOneOf } from './filter-state.ts'
import { setStage, shareOf } from './recheck.ts'
import { lockNamed } from './selector.ts'

export function* reschedule(context: Context, topic: string, selector: TaskSelector, to: Rescheduling): Verb<Task[]> {
  checkRescheduling(to)
  const { dialect, now } = context
  const waiting = isInOneOf(dialect, ['ready', 'delayed'])
  const rows = yield* lockNamed(context, 'reschedule', topic, selector, waiting, raw('t.sequence, t.identifier'))
  // mutants: equivalent condition:false, of no tasks none are changed
  if (rows.length === 0) return []
  yield* dialect.writes.change({
    topic,
    sequences: rows.map((row) => toNumber(row['sequence'])),
    // mutants: equivalent lock, the rows are locked already
    locked: 'wait',
    set: assignments(dialect, to, dialect.expr.now(now())),
  })
  // Listeners may sleep until a later due time.
  for (const statement of dialect.topics.wake(topic)) yield statement
  return rows.map((row) => toTask(topic, row))
}

/** Under a condition the blocking class stays as it is: a ready task and a delayed one are both open. */
function assignments(
  { expr }: Dialect,
  { due, delayMs, deadline, deadlineMs, priority }: Rescheduling,
  now: Statement,
): Statement {
  const instantOf = (at: Date | undefined, delay: number | undefined): Statement | undefined => {
    if (at) return expr.instant(sql`${at.getTime()}`)
    return delay === undefined ? undefined : expr.plusMs(now, sql`${delay}`)
  }
  const when = instantOf(due && new Date(dueMsOf(due)), delayMs)
  const until = deadline === null ? raw('null') : instantOf(deadline, deadlineMs)
  const waits = when ? sql`${when} > ${now}` : sql`t.state = ${states.suspended}`
  const share = shareOf(priority === undefined ? raw('t.priority') : sql`${priority}`)
  return join(
    [
      // It reads the state, so it stands before the assignment to that.
      // mutants: equivalent condition:true, without them the class is the one that the task has
      ...(when || priority !== undefined
        ? [setStage(raw('t.stage'), sql`case when ${waits} then ${stages.aside} else ${share} end`)]
        : []),
      ...(when
        ? [
            sql`state = case when ${waits} then ${states.suspended} else ${states.ready} end`,
            sql`listed = case when ${waits} then ${expr.false} else ${expr.true} end`,
            sql`completed = case when ${waits} then t.completed end`,
            sql`due = case when ${waits} then ${when} end`,
          ]
        : []),
      ...(until ? [sql`deadline = ${until}`] : []),
      ...(priority === undefined ? [] : [sql`priority = ${priority}`]),
    ],
    ', ',
  )
}
