/** Makes tasks again what they were before an action, unless somebody has touched them since. */
import {
  checkGiven,
  checkInstant,
  checkInteger,
  checkState,
  checkTopic,
  invalid,
  taskLimits,
  taskReasons,
  verbOptions,
} from '@taskstream/task-api'
import type { FilterState, FormerTask, LeftTasks, LockedTask, Restoration, RestoreOptions, TaskState } from '@taskstream/task-api'
import { blockedUntil } from '../core/blocked.ts'
import { blockingClassOf, blockingClasses, reasonNumbers, stages, stateNumbers } from '../core/states.ts'
import { join, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { sequencesOf, toNumber, toTask } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { formerColumns, toLockedTask } from './lock.ts'
import { enqueueRechecks, setBlockingClass, setReadyClass } from './recheck.ts'
import { checkKnown } from './topics.ts'

const mostRestored = 10_000
/** Values that differ from row to row are looked up in a list, so the list is short. */
const atOnce = 100

/** States in which a task does not keep later tasks of its identifier from being done. */
const over: ReadonlySet<FilterState> = new Set(['failed', 'suspended', 'filtered', 'succeeded', 'recreated', 'redundant'])

interface Found {
  readonly row: Row
  readonly now: LockedTask
  readonly former: FormerTask
}

export function* restore(context: Context, topic: string, options: RestoreOptions): Verb<Restoration> {
  checkGiven(verbOptions.restore, options)
  const { tasks, left, made } = options
  checkTopic(topic)
  check(options)
  const { dialect } = context
  const former = new Map(tasks.map((task) => [task.sequence, task]))
  const sequences = [...former.keys()].toSorted((one, other) => one - other)
  if (dialect.ranges) yield* dialect.ranges.lockFresh(topic)
  const rows = yield* dialect.locks.tasks({ topic, sequences, locked: 'skip' }, formerColumns(dialect))
  const seen = new Set(rows.map((row) => toNumber(row['sequence'])))
  const hidden = sequences.filter((sequence) => !seen.has(sequence))
  // Others have locked these rows, or deleted them.
  const locked = hidden.length === 0 ? [] : yield sql`select t.sequence from ${dialect.paths.byKeys(topic, hidden)}`
  // mutants: equivalent condition:true, a topic with tasks is known
  if (rows.length === 0 && locked.length === 0) yield* checkKnown(context, topic)
  const found = rows.map((row): Found => {
    const now = toLockedTask(row)
    return { row, now, former: former.get(now.sequence)! }
  })
  const isTaken = ({ now, former: before }: Found): boolean =>
    now.attempt !== before.attempt || (now.state === 'active' && !left.states.includes('active'))
  const taken = found.filter(isTaken)
  const alike = found.filter((one) => !isTaken(one) && isLeft(one.now, left))
  const overtaken = yield* overtakenOf(context, topic, alike, made)
  const ready = alike.filter(({ now }) => !overtaken.has(now.sequence))
  yield* change(context, topic, ready)
  return {
    restored: ready.map(({ row }) => toTask(topic, row)),
    taken: taken.length + locked.length,
    changed: sequences.length - taken.length - locked.length - alike.length,
    overtaken: overtaken.size,
  }
}

function isLeft(now: LockedTask, { states, reason, due, deadline, priority }: LeftTasks): boolean {
  if (!states.includes(now.state)) return false
  if (reason !== undefined && now.reason !== reason) return false
  if (due !== undefined && now.state === 'delayed' && now.due?.getTime() !== due.getTime()) return false
  if (deadline !== undefined && now.deadline?.getTime() !== deadline?.getTime()) return false
  return priority === undefined || now.priority === priority
}

/**
 * The tasks that no longer kept later tasks of their identifier from being done, of which one has begun: what is restored would come after it. A task
 * that an action has only made ready has kept them all along.
 */
function* overtakenOf({ dialect }: Context, topic: string, found: readonly Found[], made: Date): Verb<ReadonlySet<number>> {
  const freed = found.filter(
    ({ row, now }) => over.has(now.state) && row['stage'] !== null && toNumber(row['stage']) <= blockingClasses.ended,
  )
  // mutants: equivalent condition:false, of no tasks none is overtaken
  if (freed.length === 0) return new Set()
  const begun = sql`
    select 1
      from ${dialect.paths.identified('t')}
     where t.topic = ${topic} and t.identifier = r.identifier and t.sequence > r.freed
       and t.stage in (${stages.active}, ${stages.open}, ${stages.failed}, ${stages.suspended}, ${stages.ended})
       and (t.stage = ${stages.active} or t.started >= ${dialect.expr.instant(sql`${made.getTime()}`)})
     ${dialect.expr.limit(raw('1'))}`
  const rows = yield sql`
    select r.freed as sequence
      from ${dialect.expr.rows([
        { name: 'freed', type: 'integer', values: freed.map(({ now }) => now.sequence) },
        { name: 'identifier', type: 'text', values: freed.map(({ now }) => now.identifier) },
      ])}
     where (${begun}) is not null`
  return new Set(sequencesOf(rows))
}

function* change(context: Context, topic: string, found: readonly Found[]): Verb<void> {
  // mutants: equivalent condition:false, of no tasks none is changed
  if (found.length === 0) return
  const kinds = Map.groupBy(found, ({ row, former: { state, reason } }) => `${state} ${reason} ${toNumber(row['told'])}`)
  for (const kind of kinds.values())
    for (let at = 0; at < kind.length; at += atOnce) yield* changeSome(context, topic, kind.slice(at, at + atOnce))
  yield* enqueueRechecks(
    context,
    topic,
    found.map(({ row }) => row),
  )
  for (const statement of context.dialect.topics.wake(topic)) yield statement
}

/** Changes tasks that had the same state and reason. */
function* changeSome(context: Context, topic: string, found: readonly Found[]): Verb<void> {
  const { dialect, now } = context
  const { expr } = dialect
  const [{ row, former: one }] = found as [Found]
  // Whoever worked on a task that was at work was told to let go.
  const state = one.state === 'active' ? 'ready' : one.state
  const stored: TaskState = state === 'delayed' || state === 'blocked' ? 'suspended' : state
  const isReady = state === 'ready'
  const each = (read: (former: FormerTask) => number | null): Statement => valueOf(context, found, read)
  const instantOf = (read: (former: FormerTask) => Date | undefined): Statement =>
    found.every(({ former }) => read(former) === undefined)
      ? raw('null')
      : expr.instant(each((former) => read(former)?.getTime() ?? null))
  const attempt = (column: 'ended' | 'message'): Statement =>
    sql`(select a.${raw(column)} from ${dialect.tables.attempt} a where a.topic = t.topic and a.sequence = t.sequence and a.attempt = t.attempt)`
  const ended = attempt('ended')
  const blocking = state === 'delayed' || state === 'blocked' ? 'open' : blockingClassOf[stored]
  yield* dialect.writes.change({
    topic,
    sequences: found.map(({ former }) => former.sequence),
    // mutants: equivalent lock, the rows are locked already
    locked: 'wait',
    set: join(
      [
        isReady ? setReadyClass() : setBlockingClass(blocking),
        sql`state = ${raw(String(stateNumbers[stored]))}`,
        sql`listed = ${isReady ? expr.true : expr.false}`,
        sql`reason = ${one.reason === undefined ? raw('null') : raw(String(reasonNumbers[one.reason]))}`,
        sql`tries = ${each(({ tries }) => tries)}`,
        sql`priority = ${each(({ priority }) => priority)}`,
        sql`deadline = ${instantOf(({ deadline }) => deadline)}`,
        sql`due = ${state === 'blocked' ? blockedUntil(expr) : instantOf(({ due }) => due)}`,
        ...(isReady
          ? [raw('completed = null, owner = null, started = null')]
          : state === 'blocked' || state === 'expired'
            ? [raw('completed = null')]
            : state === 'failed'
              ? [sql`completed = coalesce(${ended}, ${expr.now(now())})`]
              : state === 'suspended' || state === 'delayed'
                ? [sql`completed = ${ended}`]
                : []),
        ...(toNumber(row['told']) === 0 && !isReady && state !== 'blocked' ? [sql`output = ${attempt('message')}`] : []),
      ],
      ', ',
    ),
  })
}

/** A value of each row: one for all, or else looked up by the sequence. */
function valueOf({ dialect }: Context, found: readonly Found[], read: (former: FormerTask) => number | null): Statement {
  const values = found.map(({ former }) => read(former))
  if (new Set(values).size === 1) return sql`${values[0]!}`
  const rows = dialect.expr.rows([
    { name: 'restored', type: 'integer', values: found.map(({ former }) => former.sequence) },
    { name: 'former', type: 'integer', values },
  ])
  return sql`(select r.former from ${rows} where r.restored = t.sequence)`
}

function check({ tasks, left, made }: RestoreOptions): void {
  if (!Array.isArray(tasks)) throw invalid('tasks', tasks, 'must be a list of tasks, as lock returns them')
  checkInteger('the number of tasks', tasks.length, 1, mostRestored)
  for (const task of tasks as readonly FormerTask[]) {
    if (typeof task !== 'object' || task === null) throw invalid('task', task, 'must be one that lock returned')
    const { sequence, state, attempt, tries, priority, reason, due, deadline } = task
    checkInteger('the sequence of a task', sequence, 0, Number.MAX_SAFE_INTEGER)
    checkState('the state of a task', state)
    if (state === 'succeeded' || state === 'recreated' || state === 'redundant')
      throw invalid('the state of a task', state, 'cannot be restored')
    checkInteger('the attempt of a task', attempt, 0, Number.MAX_SAFE_INTEGER)
    checkInteger('the tries of a task', tries, 0, 2_147_483_647)
    checkInteger('the priority of a task', priority, -taskLimits.priority, taskLimits.priority)
    checkReason(reason)
    if (due !== undefined) checkInstant('the due time of a task', due)
    if (deadline !== undefined) checkInstant('the deadline of a task', deadline)
    if ((state === 'delayed') !== (due !== undefined))
      throw invalid('the due time of a task', due, 'must be given if the task was delayed, and only then')
  }
  checkInstant('made', made)
  if (typeof left !== 'object' || left === null || !Array.isArray(left.states))
    throw invalid('left', left, 'must say in which states the tasks were left, such as { states: ["ready"] }')
  for (const state of left.states) checkState('left.states', state)
  checkReason(left.reason)
  if (left.due !== undefined) checkInstant('left.due', left.due)
  if (left.deadline !== undefined && left.deadline !== null) checkInstant('left.deadline', left.deadline)
  if (left.priority !== undefined) checkInteger('left.priority', left.priority, -taskLimits.priority, taskLimits.priority)
}

function checkReason(reason: unknown): void {
  if (reason !== undefined && !taskReasons.includes(reason as never))
    throw invalid('reason', reason, `must be one of ${taskReasons.join(', ')}`)
}
