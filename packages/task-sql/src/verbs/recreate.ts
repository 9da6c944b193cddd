import {
  checkInteger,
  checkNames,
  checkText,
  checkTopic,
  invalid,
  isTask,
  listOf,
  TaskError,
  taskLimits,
  taskToString,
  verbOptions,
} from '@taskstream/task-api'
import type {
  RecreatedTask,
  RecreateSelection,
  Redrive,
  RedriveOptions,
  RevivableState,
  Revivification,
  Task,
} from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import { isFree } from '../core/blocked.ts'
import { stages, stateNumbers, states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { inRange, meets } from './filter.ts'
import { removeOlder } from './insertion.ts'
import { isOtherRecord, recordOf } from './record-of.ts'
import { listedAtOnce } from './push.ts'
import { toNumber, toTask } from '../core/task-row.ts'
import { checkKeyed, checkKnown } from './topics.ts'
import { enqueueRechecks, setBlockingClass, setReadyClass, shareOf } from './recheck.ts'
import { blockAgain, copyDependencies } from './dependencies.ts'
import { failedBy } from './failed-by.ts'
import { forgetResults } from './removal.ts'

export const revivable: readonly RevivableState[] = ['expired', 'failed', 'suspended', 'delayed', 'filtered', 'succeeded']
const revivifications: readonly Revivification[] = ['reset', 'append', 'supersede', 'replace']

/** The columns that a recreation reads of each task. */
const givenColumns = raw('t.sequence, t.identifier, t.state, t.external_id')

export function* recreate(
  context: Context,
  topic: string,
  revivification: Revivification,
  tasks: Iterable<Task> | RecreateSelection,
): Verb<RecreatedTask[]> {
  checkTopic(topic)
  if (!revivifications.includes(revivification))
    throw invalid('revivification', revivification, `must be one of ${revivifications.join(', ')}`)
  if (typeof tasks !== 'object' || tasks === null) throw invalid('tasks', tasks, 'must be tasks or a selection')
  if (revivification === 'supersede' || revivification === 'replace') yield* checkKeyed(context, topic, revivification)
  const rows = Symbol.iterator in tasks ? yield* lockGiven(context, topic, tasks) : yield* lockSelected(context, topic, tasks)
  // mutants: equivalent condition:false, without rows nothing is made
  if (rows.length === 0) return []
  if (revivification === 'reset') {
    yield* reset(context, topic, rows.map(toSequence))
    return rows.map((row) => ({ from: toTask(topic, row), to: toTask(topic, row) }))
  }
  const created = yield* copy(context, topic, rows, revivification)
  if (revivification !== 'append') {
    const identifiers = rows.map(({ identifier }) => String(identifier))
    yield* removeOlder(context, topic, revivification, identifiers, Math.min(...created))
  }
  return rows.map((row, index) => ({ from: toTask(topic, row), to: { ...toTask(topic, row), sequence: created[index]! } }))
}

export function* redrive(context: Context, topic: string, options: RedriveOptions = {}): Verb<Redrive> {
  checkNames(verbOptions.redrive, options)
  const { states = ['failed'], fingerprint, dryRun = false, limit = 10_000, ...filter } = options
  checkTopic(topic)
  checkInteger('limit', limit, 1, taskLimits.batchSize)
  const { dialect } = context
  const matching = meets(dialect, { ...filter, states })
  const range = inRange(dialect, topic, filter.from, filter.to)
  checkRevivable('states', states)
  if (fingerprint !== undefined) checkText('fingerprint', fingerprint, taskLimits.fingerprintLength)
  const found = fingerprint === undefined ? undefined : yield* failedBy(dialect, topic, { fingerprint, matching, limit })
  const rows = dryRun
    ? (found ??
      (yield sql`
        select t.sequence
          from ${dialect.paths.inOrder}
         where ${range}${matching}
         order by ${dialect.paths.orderBy('fifo')}
         ${dialect.expr.limit(sql`${limit}`)}`))
    : found
      ? yield* lockFound(dialect, topic, found.map(toSequence), matching)
      : yield* lockFirst(dialect, topic, range, matching, limit, raw('t.sequence'))
  const sequences = rows.map(toSequence).toSorted(ascending)
  // mutants: equivalent boundary, a change of no rows changes nothing
  if (!dryRun && sequences.length > 0) yield* reset(context, topic, sequences)
  const [first, last] = [sequences[0], sequences.at(-1)]
  // mutants: equivalent logic, both are there or neither
  if (first !== undefined && last !== undefined) return { count: sequences.length, first, last }
  yield* checkKnown(context, topic)
  return { count: 0 }
}

function lockFound(dialect: Dialect, topic: string, sequences: readonly number[], matching: Statement): Verb<readonly Row[]> {
  return dialect.locks.tasks({ topic, sequences, which: sql`1 = 1${matching}`, locked: 'skip' }, raw('t.sequence'))
}

/**
 * Locks the given tasks.
 *
 * @throws TaskError ARGUMENT_INVALID, TASK_DUPLICATE, TOPIC_UNKNOWN; TASK_STATE unless each of them has ended
 */
export function* lockGiven(context: Context, topic: string, tasks: Iterable<Task>): Verb<Row[]> {
  const { dialect } = context
  const given = listOf('tasks', tasks)
  const bySequence = new Map<number, Task>()
  for (const task of given) {
    if (!isTask(task)) throw invalid('task', task, 'must be a task')
    if (task.topic !== topic) throw invalid('task', taskToString(task), `must be of topic "${topic}"`)
    if (bySequence.has(task.sequence))
      throw new TaskError('TASK_DUPLICATE', `${taskToString(task)} stands twice in one call`, { task })
    bySequence.set(task.sequence, task)
  }
  // mutants: equivalent condition:false, without tasks nothing is locked
  if (given.length === 0) return []
  const rows = yield* dialect.locks.tasks(
    {
      topic,
      sequences: [...bySequence.keys()].toSorted(ascending),
      which: sql`t.state between ${states.expired} and ${states.succeeded} and ${isFree(dialect.expr)}`,
      locked: 'wait',
    },
    givenColumns,
  )
  // mutants: equivalent condition:true, a topic with tasks is known
  if (rows.length === 0) yield* checkKnown(context, topic)
  const found = new Set(rows.map((row) => `${String(row['sequence'])} ${String(row['identifier'])}`))
  const wrong = given.filter(({ sequence, identifier }) => !found.has(`${sequence} ${identifier}`))
  if (wrong.length > 0) {
    throw new TaskError(
      'TASK_STATE',
      `${wrong.length} of ${given.length} tasks are not there or have not ended, the first is ${taskToString(wrong[0]!)}`,
      { tasks: wrong },
    )
  }
  return [...rows]
}

function* lockSelected(context: Context, topic: string, selection: RecreateSelection): Verb<Row[]> {
  const { dialect } = context
  checkNames(verbOptions.recreate, selection)
  const { state, size = 1, ...filter } = selection
  checkInteger('size', size, 1, taskLimits.batchSize)
  checkRevivable('state', [state])
  const matching = meets(dialect, { ...filter, states: [state] })
  const range = inRange(dialect, topic, filter.from, filter.to)
  const rows = yield* lockFirst(dialect, topic, range, matching, size, givenColumns)
  // mutants: equivalent condition:true, a topic with tasks is known
  if (rows.length === 0) yield* checkKnown(context, topic)
  return [...rows]
}

/** Locks the first tasks that match. Tasks that other transactions have locked are skipped. */
function lockFirst(
  dialect: Dialect,
  topic: string,
  range: Statement,
  matching: Statement,
  limit: number,
  columns: Statement,
): Verb<readonly Row[]> {
  return dialect.locks.tasks(
    {
      // mutants: equivalent property, `read` says the topic
      topic,
      // mutants: equivalent property, the filter asks for the same range, which an index then finds
      read: { from: dialect.paths.inOrder, topic: range },
      which: sql`1 = 1${matching}`,
      // mutants: equivalent property string `orderBy: dialect.paths.orderBy('fifo')`, without it the order is the same
      first: { orderBy: dialect.paths.orderBy('fifo'), limit },
      locked: 'skip',
    },
    columns,
  )
}

/**
 * Makes tasks ready in their old places, as if they had just been pushed there. Their attempts go on counting, so that a late
 * completion of a former attempt is refused.
 */
function* reset(context: Context, topic: string, sequences: readonly number[]): Verb<void> {
  const { dialect } = context
  yield* forgetResults(dialect, topic, sequences)
  // No recheck is needed: the task blocks the same tasks as before, and is itself put on the ready list.
  yield* dialect.writes.change({
    topic,
    sequences,
    // mutants: equivalent lock, the rows are locked already
    locked: 'wait',
    set: sql`
      state = ${states.ready},
      listed = ${dialect.expr.true},
      tries = 0,
      owner = null,
      reason = null,
      output = null,
      started = null,
      completed = null,
      due = null,
      deadline = null,
      ${setReadyClass()}`,
  })
  yield* blockAgain(context, topic, sequences)
  for (const statement of dialect.topics.wake(topic)) yield statement
}

/**
 * Inserts a copy of each row, in the same order, and makes the old rows `recreated`. Unless the copies are appended, only the last
 * of each identifier counts, as in a push: the others are redundant from the start.
 *
 * @returns the new sequences
 */
function* copy(
  context: Context,
  topic: string,
  rows: readonly Row[],
  revivification: Exclude<Revivification, 'reset'>,
): Verb<readonly number[]> {
  const { dialect, now } = context
  const last = new Map(rows.map((row) => [row['identifier'], row]))
  const counts = (row: Row): boolean => revivification === 'append' || last.get(row['identifier']) === row
  const sequences = rows.map(toSequence)
  const left = yield* dialect.writes.change({
    topic,
    sequences,
    // mutants: equivalent lock, the rows are locked already
    locked: 'wait',
    set: sql`descent = t.state, state = ${states.recreated}, due = null, external_id = null, ${setBlockingClass('ended')}`,
    returning: raw('identifier, stage'),
  })
  const values = dialect.expr.rows([
    { name: 'old_sequence', type: 'integer', values: sequences },
    { name: 'old_external_id', type: 'text', values: rows.map(({ external_id: id }) => (id === null ? null : String(id))) },
    { name: 'new_state', type: 'integer', values: rows.map((row) => stateNumbers[counts(row) ? 'ready' : 'redundant']) },
  ])
  const record = recordOf(context, topic)
  const insertion = (): Statement =>
    dialect.writes.insertion({
      topic,
      wake: true,
      columns: raw(
        'topic, identifier, input, reference, headers, priority, max_tries, external_id, created, state, listed, ranked, stage',
      ),
      values: sql`p.topic, t.identifier, t.input, t.reference, t.headers, t.priority, t.max_tries, r.old_external_id,
                ${dialect.expr.now(now())}, r.new_state, case when r.new_state = ${states.ready} then ${listedAtOnce(dialect)} else ${dialect.expr.false} end, p.ranking,
                case when p.stage = ${stages.open} then case when r.new_state = ${states.redundant} then ${stages.ended} else p.stage end
                     when p.stage = ${stages.high} then case when r.new_state = ${states.redundant} then ${stages.aside} else ${shareOf(raw('t.priority'))} end
                     else p.stage end`,
      from: sql`${values}, ${dialect.tables.task} t`,
      where: sql`${dialect.paths.byKey(sql`${topic}`, raw('r.old_sequence'))} and ${dialect.paths.among(raw('t.sequence'), sequences)}`,
      orderBy: raw('r.old_sequence'),
      count: rows.length,
      record: recordOf(context, topic),
    })
  let created = yield* dialect.writes.inserted(insertion(), topic, rows.length)
  if (created.length === 0 && (yield* isOtherRecord(context, topic, record)))
    created = yield* dialect.writes.inserted(insertion(), topic, rows.length)
  yield* copyDependencies(context, topic, new Map(sequences.map((sequence, index) => [sequence, created[index]!])))
  yield* enqueueRechecks(context, topic, left)
  return created
}

function checkRevivable(argument: string, states: readonly RevivableState[]): void {
  const wrong = states.filter((state) => !revivable.includes(state))
  if (wrong.length > 0) throw invalid(argument, wrong[0], `must be of ${revivable.join(', ')}`)
}

const ascending = (left: number, right: number): number => left - right

function toSequence(row: Row): number {
  return toNumber(row['sequence'])
}
