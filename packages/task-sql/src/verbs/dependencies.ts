/**
 * Tasks that wait for others. A dependency is a row that nobody changes while it waits: no verb that ends a task writes anything for those that need it,
 * and `settle` reads how the others have ended. So nothing can be lost between two transactions that end at once.
 */
import { checkInteger, checkText, checkTopic, invalid, TaskError, taskLimits } from '@taskstream/task-api'
import type { TaskDependency, TaskKey } from '@taskstream/task-api'
import { blockedUntil } from '../core/blocked.ts'
import { states } from '../core/states.ts'
import type { Dialect } from '../core/dialect.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { sequencesOf, toNumber } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { learnRecords, recordOf } from './record-of.ts'
import { setBlockingClass } from './recheck.ts'
import { checkKnown } from './topics.ts'

const needLength = 100

export function* depend(context: Context, task: TaskKey, on: readonly TaskDependency[]): Verb<void> {
  checkKey('task', task)
  checkDependencies(task, on)
  yield* checkOrder(context, task, on)
  const { dialect } = context
  const { topic, sequence } = task
  const blocked = yield* dialect.writes.change({
    topic,
    sequences: [sequence],
    which: sql`t.state = ${states.suspended} and t.due is null`,
    locked: 'wait',
    set: sql`due = ${blockedUntil(dialect.expr)}, ${setBlockingClass('open')}`,
  })
  if (blocked.length === 0) {
    yield* checkKnown(context, topic)
    throw new TaskError(
      'TASK_STATE',
      `Task ${sequence} of topic "${topic}" is not there or is not suspended: push it suspended, and call depend once`,
      { task },
    )
  }
  // What the task needed before, when it was started and then suspended, counts no more.
  yield* dialect.writes.remove({ table: dialect.tables.dependency, key: 'sequence', topic, keys: [sequence] })
  yield sql`
    insert into ${dialect.tables.dependency} (topic, sequence, place, need, parent_topic, parent, tolerant)
    select p.topic, ${sequence}, r.place, r.need, r.needed_topic, r.needed, r.tolerant
      from ${dialect.tables.topic} p, ${dialect.expr.rows([
        { name: 'place', type: 'integer', values: on.map((_, place) => place) },
        { name: 'need', type: 'text', values: on.map(({ need }) => need) },
        { name: 'needed_topic', type: 'text', values: on.map(({ on: { topic } }) => topic) },
        { name: 'needed', type: 'integer', values: on.map(({ on: { sequence } }) => sequence) },
        { name: 'tolerant', type: 'integer', values: on.map(({ tolerant = false }) => (tolerant ? 1 : 0)) },
      ])}
     where p.topic = ${topic}`
  // The others may have ended already, and a loop that sleeps does not know of the task yet.
  for (const statement of dialect.topics.wake(topic)) yield statement
}

export function* dependencies(
  { dialect }: Context,
  tasks: readonly TaskKey[],
): Verb<readonly (readonly Required<TaskDependency>[])[]> {
  if (!Array.isArray(tasks)) throw invalid('tasks', tasks, 'must be a list of tasks')
  checkInteger('the number of tasks', tasks.length, 0, taskLimits.batchSize)
  for (const task of tasks) checkKey('task', task)
  const found: Required<TaskDependency>[][] = tasks.map(() => [])
  // mutants: equivalent condition:false, of no tasks no rows are read
  if (tasks.length === 0) return found
  const rows = yield sql`
    select r.asked, d.need, d.parent_topic, d.parent, d.tolerant
      from ${dialect.expr.rows([
        { name: 'asked', type: 'integer', values: tasks.map((_, index) => index) },
        { name: 'wanted_topic', type: 'text', values: tasks.map(({ topic }) => topic) },
        { name: 'wanted', type: 'integer', values: tasks.map(({ sequence }) => sequence) },
      ])}
      join ${dialect.tables.dependency} d on d.topic = r.wanted_topic and d.sequence = r.wanted
     order by r.asked, d.place`
  for (const row of rows)
    found[toNumber(row['asked'])]!.push({
      need: String(row['need']),
      on: { topic: String(row['parent_topic']), sequence: toNumber(row['parent']) },
      tolerant: toNumber(row['tolerant']) === 1,
    })
  return found
}

/** True for a row `t` that a task needs which has not ended: that one reads what this one returned. */
export function isNeeded({ tables }: Dialect): Statement {
  return sql`exists (select 1
                       from ${tables.dependency} d
                       join ${tables.task} k on k.topic = d.topic and k.sequence = d.sequence
                      where d.parent_topic = t.topic and d.parent = t.sequence
                        and k.state in (${states.active}, ${states.ready}, ${states.expired}, ${states.suspended}))`
}

/** Blocks those of these ready tasks that need others: they begin anew, and look again at what they need. */
export function* blockAgain({ dialect }: Context, topic: string, sequences: readonly number[]): Verb<void> {
  // mutants: equivalent sql-distinct `distinct d.sequence`, a row is changed once however often it is named
  const rows = yield sql`
    select distinct d.sequence
      from ${dialect.tables.dependency} d
     where d.topic = ${topic} and ${dialect.paths.among(raw('d.sequence'), sequences)}`
  // mutants: equivalent condition:false, a change of no rows changes nothing
  if (rows.length === 0) return
  yield* dialect.writes.change({
    topic,
    sequences: sequencesOf(rows),
    locked: 'wait',
    set: sql`state = ${states.suspended}, listed = ${dialect.expr.false}, due = ${blockedUntil(dialect.expr)}, ${setBlockingClass('open')}`,
  })
}

/** Gives copies of tasks the dependencies of their originals, and has the tasks that need the originals need the copies. */
export function* copyDependencies(context: Context, topic: string, copies: ReadonlyMap<number, number>): Verb<void> {
  const { dialect } = context
  const { dependency } = dialect.tables
  const originals = [...copies.keys()]
  const isOriginal = dialect.paths.among(raw('d.sequence'), originals)
  const own = yield sql`select distinct d.sequence from ${dependency} d where d.topic = ${topic} and ${isOriginal}`
  for (const original of sequencesOf(own)) {
    yield sql`
      insert into ${dependency} (topic, sequence, place, need, parent_topic, parent, tolerant)
      select d.topic, ${copies.get(original)!}, d.place, d.need, d.parent_topic, d.parent, d.tolerant
        from ${dependency} d
       where d.topic = ${topic} and d.sequence = ${original}`
  }
  // mutants: equivalent boundary condition:true, of copies without dependencies none are blocked
  if (own.length > 0) yield* blockAgain(context, topic, [...copies.values()])
  // mutants: equivalent sql-distinct `distinct d.parent`, the second update of an original finds nothing
  const needed = yield sql`
    select distinct d.parent as sequence
      from ${dependency} d
     where d.parent_topic = ${topic} and ${dialect.paths.among(raw('d.parent'), originals)}`
  for (const original of sequencesOf(needed)) {
    yield sql`update ${dependency} set parent = ${copies.get(original)!} where parent_topic = ${topic} and parent = ${original}`
  }
}

function checkKey(argument: string, task: TaskKey): void {
  checkTopic(task?.topic)
  checkInteger(`the sequence of ${argument}`, task.sequence, 0, Number.MAX_SAFE_INTEGER)
}

function checkDependencies(task: TaskKey, on: readonly TaskDependency[]): void {
  if (!Array.isArray(on)) throw invalid('on', on, 'must be a list of dependencies')
  checkInteger('the number of dependencies', on.length, 1, taskLimits.batchSize)
  for (const dependency of on as readonly (TaskDependency & Row)[]) {
    if (typeof dependency !== 'object' || dependency === null)
      throw invalid('on', dependency, 'must be a list of dependencies, such as { need, on: task }')
    const { need, on: needed, tolerant } = dependency
    checkText('need', need, needLength)
    checkKey(`the need "${need}"`, needed)
    if (tolerant !== undefined && typeof tolerant !== 'boolean') throw invalid('tolerant', tolerant, 'must be true or false')
    if (needed.topic === task.topic && needed.sequence === task.sequence)
      throw invalid('on', `task ${task.sequence} of topic "${task.topic}"`, 'must not be the task itself')
  }
}

/** Sequences ascend in the order of pushes, over all topics that share them. So no task can wait for itself through others. */
function* checkOrder(context: Context, task: TaskKey, on: readonly TaskDependency[]): Verb<void> {
  const others = new Set(on.map(({ on: { topic } }) => topic).filter((topic) => topic !== task.topic))
  if (others.size > 0) {
    const topics = [task.topic, ...others]
    yield* learnRecords(context, topics)
    const apart = topics.find((topic) => recordOf(context, topic) === 'outcomes')
    if (apart !== undefined)
      throw invalid(
        'on',
        `topics "${topics.join('", "')}"`,
        `must be one topic, or keep states: "${apart}" keeps outcomes and numbers its tasks by itself, so that nobody can tell what was pushed first`,
      )
  }
  for (const { on: needed } of on) {
    // mutants: equivalent boundary, a sequence is one of one topic
    if (needed.sequence > task.sequence)
      throw invalid(
        'on',
        `task ${needed.sequence} of topic "${needed.topic}"`,
        `was pushed after task ${task.sequence}, which needs it: push what is needed first`,
      )
  }
}
