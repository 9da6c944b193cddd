/** Starts tasks that need not wait for others any longer, and fails those that would wait for ever. */
import { checkInteger, checkNames, checkTopic, taskLimits, verbOptions } from '@taskstream/task-api'
import type { Settlement, SettleOptions, TaskState } from '@taskstream/task-api'
import { blockedUntil, isBlocked } from '../core/blocked.ts'
import { reasons, states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { sequencesOf, toNumber, toState } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { dependencies } from './dependencies.ts'
import { endings } from './endings.ts'
import { waitsFor } from './needs-of-successors.ts'
import { enqueueRechecks, setBlockingClass, setReadyClass } from './recheck.ts'
import { checkKnown } from './topics.ts'

/** States in which a task may still succeed, and those in which nothing happens to it by itself any more. */
const open = sql`(${states.active}, ${states.ready}, ${states.expired}, ${states.suspended})`
/** States in which a task has ended, and not succeeded. */
export const over: Statement = sql`(${states.failed}, ${states.filtered}, ${states.recreated}, ${states.redundant})`
/** How many dependencies follow tasks that have gone on as others, in one statement each. */
// mutants: equivalent number, one more or less is as good
const movedAtOnce = 1_000
/** How many times in a row one call follows them. Tasks may go on as each other in a circle. */
// mutants: equivalent number, one more or less is as good
const followedAtMost = 100

export function* settle(context: Context, topic: string, options: SettleOptions = {}): Verb<Settlement> {
  checkNames(verbOptions.settle, options)
  const { limit = 1_000 } = options
  checkTopic(topic)
  checkInteger('limit', limit, 1, taskLimits.batchSize)
  let rows = yield* look(context, topic, limit)
  // mutants: equivalent number boundary, one round more or less is as good
  for (let round = 0; round < followedAtMost && (yield* follow(context, topic, rows)); round++)
    rows = yield* look(context, topic, limit)
  // mutants: equivalent condition:true, a topic with blocked tasks is known
  if (rows.length === 0) yield* checkKnown(context, topic)
  const has = (row: Row, name: string): boolean => toNumber(row[name]) > 0
  // mutants: equivalent method, of tasks that miss nothing there is no message
  const missing = rows.filter((row) => has(row, 'missed'))
  const free = rows.filter((row) => !has(row, 'missed') && !has(row, 'unended') && !has(row, 'moved'))
  const moved = rows.filter((row) => !has(row, 'missed') && !has(row, 'unended') && has(row, 'moved'))
  // What has gone on in a circle is over, as for those who wait for it.
  // mutants: equivalent method, they are started in any order
  for (const row of moved) if (yield* isOver(context, topic, row)) free.push(row)
  return { started: yield* start(context, topic, free), unreachable: yield* fail(context, topic, missing) }
}

function* isOver(context: Context, topic: string, row: Row): Verb<boolean> {
  const [needed] = yield* dependencies(context, [{ topic, sequence: toNumber(row['sequence']) }])
  const ends = yield* endings(
    context,
    needed!.map(({ on }) => on),
  )
  return ends.every((end) => end?.ended)
}

/** The state of the task that a dependency `d` is on, as a value: no statistics then make the database read all tasks. */
function stateOf({ dialect }: Context): Statement {
  const { paths, tables } = dialect
  return sql`(select t.state from ${tables.task} t where ${paths.byKey(raw('d.parent_topic'), raw('d.parent'))})`
}

/** Blocked tasks for which there is something to do: how many of those that they need have gone on, may still succeed, and will not. */
function* look(context: Context, topic: string, limit: number): Verb<readonly Row[]> {
  const { expr, tables } = context.dialect
  // mutants: equivalent sql-number `moved is not null then 1`, it is only asked whether there are any
  // mutants: equivalent sql-number `${open} then 1`, it is only asked whether there are any
  // mutants: equivalent sql-join `left join ${tables.dependency}`, a blocked task has dependencies
  return yield sql`
      select f.sequence, f.moved, f.unended, f.missed
        from (select c.sequence,
                     sum(case when c.moved is not null then 1 else 0 end) as moved,
                     sum(case when c.moved is null and c.state in ${open} then 1 else 0 end) as unended,
                     sum(case when coalesce(c.state, ${states.redundant}) in ${over} then 1 - c.tolerant else 0 end) as missed
                from (select b.sequence, d.tolerant, ${stateOf(context)} as state,
                             (select 1
                                from ${tables.result} e
                               where e.topic = d.parent_topic and e.sequence = d.parent and e.next_topic is not null) as moved
                        from ${tables.task} b
                        left join ${tables.dependency} d on d.topic = b.topic and d.sequence = b.sequence
                       where b.topic = ${topic} and b.due = ${blockedUntil(expr)} and b.state = ${states.suspended}) c
               group by c.sequence) f
       where f.moved > 0 or f.unended = 0 or f.missed > 0
       order by f.sequence
       ${expr.limit(sql`${limit}`)}`
}

/**
 * Has dependencies on tasks that have gone on as others be on those, if they were not seen when the tasks went on: their transactions were still open.
 *
 * @returns whether there were any
 */
function* follow(context: Context, topic: string, rows: readonly Row[]): Verb<boolean> {
  const { dialect } = context
  const { dependency, result } = dialect.tables
  const sequences = sequencesOf(rows.filter(({ moved }) => toNumber(moved) > 0))
  if (sequences.length === 0) return false
  // mutants: equivalent sql-order `order by d.sequence, d.place`, they are followed in any order
  const moved = yield sql`
    select d.sequence, d.place, d.need, d.parent_topic, d.parent, e.next_topic, e.next_sequence
      from ${dependency} d
      join ${result} e on e.topic = d.parent_topic and e.sequence = d.parent
     where d.topic = ${topic} and ${dialect.paths.among(raw('d.sequence'), sequences)} and e.next_topic is not null
     order by d.sequence, d.place
     ${dialect.expr.limit(sql`${movedAtOnce}`)}`
  for (const row of moved) {
    const [task, next] = [
      { topic, sequence: toNumber(row['sequence']) },
      { topic: String(row['next_topic']), sequence: toNumber(row['next_sequence']) },
    ]
    if (yield* waitsFor(context, next, [task])) {
      yield* failAs(context, topic, [task.sequence], goneRound(row))
      continue
    }
    yield sql`
      update ${dependency}
         set parent_topic = ${next.topic}, parent = ${next.sequence}
       where topic = ${topic} and sequence = ${task.sequence} and place = ${toNumber(row['place'])}
         and parent_topic = ${String(row['parent_topic'])} and parent = ${toNumber(row['parent'])}`
  }
  return true
}

function* start({ dialect }: Context, topic: string, rows: readonly Row[]): Verb<number> {
  if (rows.length === 0) return 0
  // Others may be settling the same tasks.
  const started = yield* dialect.writes.change({
    topic,
    sequences: sequencesOf(rows),
    which: isBlocked(dialect.expr),
    locked: 'skip',
    set: sql`state = ${states.ready}, listed = ${dialect.expr.true}, due = null, completed = null, ${setReadyClass()}`,
  })
  return started.length
}

function* fail(context: Context, topic: string, rows: readonly Row[]): Verb<number> {
  if (rows.length === 0) return 0
  let failed = 0
  for (const [message, sequences] of yield* messagesOf(context, topic, sequencesOf(rows)))
    failed += yield* failAs(context, topic, sequences, message)
  return failed
}

function* failAs(context: Context, topic: string, sequences: readonly number[], message: string): Verb<number> {
  const { dialect, now } = context
  const changed = yield* dialect.writes.change({
    topic,
    sequences,
    which: isBlocked(dialect.expr),
    locked: 'skip',
    set: sql`
      state = ${states.failed},
      reason = ${reasons.unreachable},
      due = null,
      completed = ${dialect.expr.now(now())},
      output = ${message},
      ${setBlockingClass('failed')}`,
    returning: raw('identifier, stage'),
  })
  yield* enqueueRechecks(context, topic, changed)
  return changed.length
}

/** What each task misses, in words. Many tasks may miss the same. */
function* messagesOf(
  context: Context,
  topic: string,
  sequences: readonly number[],
): Verb<ReadonlyMap<string, readonly number[]>> {
  const { dialect } = context
  const rows = yield sql`
    select c.sequence, c.need, c.parent_topic, c.parent, c.state
      from (select d.sequence, d.place, d.need, d.parent_topic, d.parent, ${stateOf(context)} as state
              from ${dialect.tables.dependency} d
             where d.topic = ${topic} and ${dialect.paths.among(raw('d.sequence'), sequences)} and d.tolerant = 0) c
     where coalesce(c.state, ${states.redundant}) in ${over}
     order by c.sequence, c.place`
  const messages = new Map<number, string>()
  for (const row of rows) {
    const sequence = toNumber(row['sequence'])
    if (messages.has(sequence)) continue
    messages.set(sequence, `${needOf(row)}, ${became(row['state'])}`)
  }
  return Map.groupBy(messages.keys(), (sequence) => messages.get(sequence)!)
}

function goneRound(row: Row): string {
  return `${needOf(row)}, has gone on as a task that waits for this one`
}

function needOf(row: Row): string {
  return `What it needs as "${String(row['need'])}", task ${toNumber(row['parent'])} of topic "${String(row['parent_topic'])}"`
}

const ends: Readonly<Partial<Record<TaskState, string>>> = {
  failed: 'has failed',
  filtered: 'was filtered',
  redundant: 'became redundant',
}

function became(state: unknown): string {
  return state === null ? 'is not there' : (ends[toState(state)] ?? 'has not succeeded')
}
