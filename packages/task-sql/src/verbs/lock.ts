/** Locks tasks for whoever decides in the same transaction what becomes of them. */
import { checkInteger, checkNames, checkText, checkTopic, invalid, taskLimits, verbOptions } from '@taskstream/task-api'
import type { LockedTask, LockedTasks, LockOptions } from '@taskstream/task-api'
import { blockedUntilMs } from '../core/blocked.ts'
import type { Dialect } from '../core/dialect.ts'
import { nothing, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { present, sequencesOf, toInstant, toNumber, toReason } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { isNeeded } from './dependencies.ts'
import { failedBy } from './failed-by.ts'
import { inRange, meets } from './filter.ts'
import { filterStateNumber, toFilterState } from './filter-state.ts'
import { find } from './selector.ts'
import { checkKnown } from './topics.ts'

/** Of more tasks than this the transaction would keep others waiting for long. */
const mostLocked = 10_000

export function* lock(context: Context, topic: string, options: LockOptions = {}): Verb<LockedTasks> {
  checkNames(verbOptions.lock, options)
  const {
    tasks,
    fingerprint,
    newest = false,
    unneeded = false,
    skipLocked = false,
    dryRun = false,
    limit = 1_000,
    ...filter
  } = options
  checkTopic(topic)
  checkInteger('limit', limit, 1, mostLocked)
  if (fingerprint !== undefined) checkText('fingerprint', fingerprint, taskLimits.fingerprintLength)
  if (tasks !== undefined && (fingerprint !== undefined || newest))
    throw invalid('tasks', tasks, 'cannot be given together with fingerprint or newest')
  const { dialect } = context
  const matching = sql`${meets(dialect, filter)}${unneeded ? sql` and not ${isNeeded(dialect)}` : nothing}`
  const which = sql`1 = 1${matching}`
  if (dialect.ranges && !dryRun) yield* dialect.ranges.lockFresh(topic)
  // Rows are found without locks first, and then locked in the order of their sequences, as other verbs lock them.
  const found =
    tasks !== undefined
      ? yield* find(context, 'lock', topic, tasks, which)
      : fingerprint !== undefined
        ? sequencesOf(yield* failedBy(dialect, topic, { fingerprint, matching, limit, newest }))
        : sequencesOf(yield first(dialect, topic, options, matching, limit))
  const columns = formerColumns(dialect)
  const rows =
    // mutants: equivalent condition:false, of no sequences none is there
    found.length === 0
      ? []
      : dryRun
        ? yield sql`select ${columns} from ${dialect.paths.byKeys(topic, found)} and ${which} order by t.sequence`
        : yield* dialect.locks.tasks({ topic, sequences: found, which, locked: skipLocked ? 'skip' : 'wait' }, columns)
  // mutants: equivalent condition:true, a topic with tasks is known
  if (rows.length === 0) yield* checkKnown(context, topic)
  const last = found.at(-1)
  return {
    tasks: rows.map(toLockedTask),
    ...(last !== undefined && { last }),
    hasMore: tasks === undefined && found.length === limit,
  }
}

function first(
  dialect: Dialect,
  topic: string,
  { from, to, newest = false }: LockOptions,
  matching: Statement,
  limit: number,
): Statement {
  return sql`
    select t.sequence
      from ${dialect.paths.inOrder}
     where ${inRange(dialect, topic, from, to)}${matching}
     order by ${dialect.paths.orderBy(newest ? 'lifo' : 'fifo')}
     ${dialect.expr.limit(sql`${limit}`)}`
}

/** The columns of which `toLockedTask` makes a task. */
export function formerColumns(dialect: Dialect): Statement {
  const instant = (name: string): Statement => sql`${dialect.expr.epochMs(raw(`t.${name}`))} as ${raw(name)}`
  return sql`t.sequence, t.identifier, t.attempt, t.tries, t.priority, t.reason, t.stage, ${filterStateNumber(dialect)} as state,
    case when t.output is null then 0 else 1 end as told, ${instant('due')}, ${instant('deadline')}`
}

export function toLockedTask(row: Row): LockedTask {
  const due = row['due'] === null ? undefined : toNumber(row['due'])
  return {
    sequence: toNumber(row['sequence']),
    identifier: String(row['identifier']),
    state: toFilterState(row['state']),
    attempt: toNumber(row['attempt']),
    tries: toNumber(row['tries']),
    priority: toNumber(row['priority']),
    ...present('reason', row['reason'], toReason),
    ...(due !== undefined && due !== blockedUntilMs && { due: new Date(due) }),
    ...present('deadline', row['deadline'], toInstant),
  }
}
