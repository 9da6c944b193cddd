/** Looks at tasks, topics, owners and timers: they are the same on every engine. */
import { pollConditions } from '@taskstream/task-api'
import type { PollCondition } from '@taskstream/task-api'
import type { Dialect } from '../../core/dialect.ts'
import type { Look, LookOptions, Looks } from '../../core/examination.ts'
import { stages, states } from '../../core/states.ts'
import { join, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { holding, toNumber } from '../../core/task-row.ts'
import { toTopicMode } from '../../core/topic-mode.ts'
import type { Row, Verb } from '../../core/verb.ts'

/** How many topics, owners and timers are looked at. */
const most = 100
/** How many topics are looked at for tasks that are overdue, and how many of them in one statement. */
const mostTopics = 1_000
const topicsAtOnce = 50
/** How many tasks of a topic are looked at. */
const mostTasks = 100
/** How many held tasks are looked at. */
const mostHeld = 1_000

export function taskLooks(dialect: Dialect): Looks {
  return {
    paused: reading(dialect, paused),
    overdue: reading(dialect, overdue),
    'owner-silent': reading(dialect, ownerSilent),
    'timer-overdue': reading(dialect, timerOverdue),
    'retry-endless': reading(dialect, retryEndless),
    'identifier-blocked': reading(dialect, identifierBlocked),
  }
}

function reading(dialect: Dialect, read: (dialect: Dialect, options: LookOptions) => Verb<readonly Row[]>): Look {
  return { read: (options) => read(dialect, options) }
}

/** Milliseconds since an instant of a time column. */
function since({ expr }: Dialect, { now }: LookOptions, column: Statement): Statement {
  return sql`${expr.epochMs(expr.now(now))} - ${expr.epochMs(column)}`
}

/** Topics that somebody has paused and that have ready tasks. */
function* paused(dialect: Dialect, options: LookOptions): Verb<readonly Row[]> {
  const { tables, expr, claims } = dialect
  return yield sql`
    select x.topic, x.value
      from (select p.topic, ${since(dialect, options, raw('a.changed'))} as value, ${claims.oldestReady} as oldest
              from ${tables.topic} p
              join ${tables.activation} a on a.topic = p.topic
             where a.active = ${expr.false}) x
     where x.oldest is not null
     order by x.value desc
     ${expr.limit(raw(String(most)))}`
}

/**
 * The delayed task of each topic that has been due for longest. Nobody promotes the tasks of a paused topic, which has a look of its own. Each topic is a
 * value of the statement: MariaDB uses the index of due times only for a constant.
 */
function* overdue(dialect: Dialect, options: LookOptions): Verb<readonly Row[]> {
  const { tables, expr, examination } = dialect
  const topics = yield sql`
    select p.topic
      from ${tables.topic} p
     where not exists (select 1 from ${tables.activation} a where a.topic = p.topic and a.active = ${expr.false})
     order by p.topic
     ${expr.limit(raw(String(mostTopics)))}`
  const found: Row[] = []
  for (let start = 0; start < topics.length; start += topicsAtOnce) {
    const some = topics.slice(start, start + topicsAtOnce).map(({ topic }) => String(topic))
    const first = some.map(
      (topic, place) => sql`
        select ${raw(String(place))} as place,
               (select t.due
                  from ${tables.task} t
                 where t.topic = ${topic} and t.due is not null
                 order by t.due
                 ${expr.limit(raw('1'))}) as due ${examination.oneRow}`,
    )
    const rows = yield sql`
      select x.place, ${since(dialect, options, raw('x.due'))} as value
        from (${join(first, ' union all ')}) x
       where x.due <= ${expr.now(options.now)}`
    found.push(...rows.map(({ place, value }) => ({ topic: some[toNumber(place)], value })))
  }
  return found
}

/** Owners that hold tasks and have sent no heartbeat within their lease. `value` is the silence in leases. */
function* ownerSilent(dialect: Dialect, options: LookOptions): Verb<readonly Row[]> {
  const { tables, expr, claims, paths } = dialect
  const deadline = expr.plusMs(expr.now(options.now), sql`${-options.leaseMs}`)
  const isSilent = (owner: Statement): Statement =>
    sql`not exists (select 1 from ${tables.owner} o where o.owner = ${owner} and o.heartbeat >= ${deadline})`
  const held = [
    ...(yield claims.claimedBy(isSilent, mostHeld, 'read')),
    ...(dialect.ranges ? yield dialect.ranges.heldBy(isSilent, mostHeld) : []),
  ]
  const { owner: holder, started } = holding(dialect)
  const rows: Row[] = []
  // For an owner that is no longer registered, the start of its task stands for the heartbeat.
  for (const { owner, topic, sequence } of onePerOwner(held)) {
    const [found] = yield sql`
      select ${since(dialect, options, sql`coalesce(o.heartbeat, t.held_since)`)} as silent
        from (select ${holder} as holder, ${started} as held_since
                from ${tables.task} t
               where ${paths.byKey(sql`${String(topic)}`, sql`${toNumber(sequence)}`)}) t
        left join ${tables.owner} o on o.owner = t.holder
       where t.holder = ${String(owner)}`
    if (found) rows.push({ owner, topic, sequence, value: Number(found['silent']) / options.leaseMs })
  }
  return rows
}

function onePerOwner(held: readonly Row[]): readonly Row[] {
  return [...new Map(held.map((row) => [row['owner'], row])).values()].slice(0, most)
}

function* timerOverdue(dialect: Dialect, options: LookOptions): Verb<readonly Row[]> {
  const { tables, expr } = dialect
  return yield sql`
    select t.scope, t.id, ${since(dialect, options, raw('t.due'))} as value
      from ${tables.periodic} t
     where t.due is not null and t.due <= ${expr.now(options.now)}
     order by t.due
     ${expr.limit(raw(String(most)))}`
}

/** Tasks among the newest attempts of each topic that are still open. `value` is their tries. */
function* retryEndless({ tables, expr, paths }: Dialect): Verb<readonly Row[]> {
  const topics = yield sql`
    select x.topic
      from (select p.topic, 
                   (select t.ended
                      from ${tables.attempt} t
                     where t.topic = p.topic
                     order by t.ended desc
                     ${expr.limit(raw('1'))}) as ended
              from ${tables.topic} p) x
     where x.ended is not null
     order by x.ended desc
     ${expr.limit(raw(String(most)))}`
  const found: Row[] = []
  for (const { topic } of topics) {
    const [row] = yield sql`
      select t.sequence, t.tries as value
        from (select a.sequence
                from ${tables.attempt} a
               where a.topic = ${String(topic)}
               order by a.ended desc
               ${expr.limit(raw(String(mostTasks)))}) r
       cross join ${tables.task} t
       where ${paths.byKey(sql`${String(topic)}`, raw('r.sequence'))}
         and (t.state in (${states.active}, ${states.ready}) or t.state = ${states.suspended} and t.due is not null)
       order by t.tries desc
       ${expr.limit(raw('1'))}`
    if (row) found.push({ topic, ...row })
  }
  return found.toSorted((left, right) => Number(right['value']) - Number(left['value']))
}

/** The blocking classes that keep later tasks of the identifier waiting until somebody acts. */
const lasting: Readonly<Record<PollCondition, readonly Statement[]>> = {
  none: [],
  'singular-by-identifier': [],
  'singular-by-identifier-suspend-on-failure': [stages.failed],
  'singular-by-identifier-suspend-until-success': [stages.failed, stages.suspended],
}

/** The first ready tasks of topics with a condition which an earlier task blocks that failed or is suspended. */
function* identifierBlocked(dialect: Dialect, options: LookOptions): Verb<readonly Row[]> {
  const { tables, expr, claims, paths } = dialect
  const first = pollConditions.findIndex((condition) => lasting[condition].length > 0)
  const topics = yield sql`
    select p.topic, p.ordering, ${raw(`p.${expr.conditionColumn}`)} as polled_if
      from ${tables.topic} p
     where ${raw(`p.${expr.conditionColumn}`)} >= ${raw(String(first))}
     order by p.topic
     ${expr.limit(raw(String(most)))}`
  const found: Row[] = []
  for (const { topic, ordering, polled_if } of topics) {
    const name = String(topic)
    const { order, condition } = toTopicMode(ordering, polled_if)
    const ready = (yield claims.firstReady(name, mostTasks)).map(({ sequence }) => toNumber(sequence))
    if (ready.length === 0) continue
    const earlier = raw(order === 'lifo' ? 'b.sequence > t.sequence' : 'b.sequence < t.sequence')
    for (const stage of lasting[condition]) {
      const blocker = sql`
        (select min(b.sequence)
           from ${paths.identified('b')}
          where b.topic = ${name} and b.identifier = t.identifier and b.stage = ${stage} and ${earlier})`
      const blocked = yield sql`
        select x.blocker, count(*) as waiting
          from (select ${blocker} as blocker from ${paths.byKeys(name, ready)}) x
         where x.blocker is not null
         group by x.blocker`
      for (const row of blocked) {
        const [task] = yield sql`
          select t.sequence, t.identifier, ${since(dialect, options, raw('coalesce(t.completed, t.created)'))} as value
            from ${tables.task} t
           where ${paths.byKey(sql`${name}`, sql`${toNumber(row['blocker'])}`)}`
        if (task) found.push({ topic, ...task, waiting: row['waiting'] })
      }
    }
  }
  return found.toSorted((left, right) => Number(right['value']) - Number(left['value']))
}
