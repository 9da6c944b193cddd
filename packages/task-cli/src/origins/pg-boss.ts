/** The queues of pg-boss 12, read from its tables. */
import { taskLimits } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { remarks } from './origin.ts'
import type { SqlOrigin } from './sql-origin.ts'
import { leastPriority, longestTimeoutMs, mostPriority } from './waiting-job.ts'

/** Jobs that no worker has, and that no other job waits for or is waited for by. In these words the index of pg-boss's own fetch is found. */
const isWaiting = raw(`state < 'active' and not blocked and not blocking`)
/** Later instants have no date here, as `infinity` has none. */
const endOfDates = `'9999-12-31'`
const fits = raw(
  `length(coalesce(singleton_key, '')) <= ${taskLimits.identifierLength} and length(coalesce(group_id, '')) <= ${taskLimits.identifierLength} and length(coalesce(data::text, '')) <= ${taskLimits.inputLength} and start_after < ${endOfDates}`,
)

export const pgBoss: SqlOrigin = {
  name: 'pg-boss',
  schema: 'pgboss',
  since: '12',
  columns: ['job', 'keep_until', 'expire_seconds', 'group_id', 'blocked', 'blocking', 'heartbeat_seconds', 'retry_delay_max'],
  payload: 'data::json',
  fields: { 'singleton-key': `nullif(singleton_key, '')`, group: `nullif(group_id, '')` },
  queues: (at) => sql`select name from ${at('queue')} order by name`,
  survey: (at, queue, field) => sql`
    select count(*) filter (where moves) as waiting,
      count(*) filter (where moves and priority <> 0) as prioritized,
      count(*) filter (where moves and ${field} is not null) as keyed,
      count(*) filter (where state = 'active') as active,
      count(*) filter (where state in ('created', 'retry') and (blocked or blocking)) as flow,
      count(*) filter (where ${isWaiting} and not moves) as large,
      count(*) filter (where state = 'failed') as failed,
      (select count(*) from ${at('schedule')} as s where s.name = ${queue}) as schedules,
      count(*) filter (where moves and retry_limit > 0 and (retry_delay > 0 or retry_backoff)) as pauses,
      count(*) filter (where moves and priority not between ${leastPriority} and ${mostPriority}) as extreme,
      count(*) filter (where moves and expire_seconds > ${longestTimeoutMs / 1_000}) as slow,
      count(*) filter (where moves and singleton_key is not null) as singletons,
      count(*) filter (where moves and singleton_on is not null) as slots,
      count(*) filter (where moves and group_id is not null) as groups,
      count(*) filter (where moves and dead_letter is not null) as letters,
      count(*) filter (where moves and trace_context is not null) as traces
    from (select *, ${isWaiting} and ${fits} as moves from ${at('job')} where name = ${queue}) as job`,
  toSurvey: (counts, key) => ({
    waiting: counts['waiting']!,
    prioritized: counts['prioritized']!,
    keyed: counts['keyed']!,
    left: remarks(
      { what: 'active', count: counts['active']!, hint: 'let their workers finish them, then import again' },
      { what: 'in a flow', count: counts['flow']!, hint: 'let the flow end, or push it anew with needs' },
      {
        what: 'too large, or due too late',
        count: counts['large']!,
        hint: 'a key of 500 characters, a payload of 16,777,216 and the year 9999 are the most',
      },
      { what: 'failed', count: counts['failed']!, hint: 'retry them in pg-boss first, if they are still wanted' },
      { what: 'schedules', count: counts['schedules']!, hint: 'define a timer for each, and unschedule it' },
    ),
    lost: remarks(
      { what: 'pauses between tries', count: counts['pauses']!, hint: 'the option retry of the definition says them' },
      {
        what: `priority beyond ${mostPriority}`,
        count: counts['extreme']!,
        hint: `it becomes ${mostPriority}, or ${leastPriority}`,
      },
      { what: 'timeout of more than a day', count: counts['slow']!, hint: 'a handler extends its time as it goes' },
      {
        what: 'singleton key',
        count: key === 'singleton-key' ? 0 : counts['singletons']!,
        hint: '--key singleton-key makes it the identifier',
      },
      { what: 'group', count: key === 'group' ? 0 : counts['groups']!, hint: '--key group makes it the identifier' },
      { what: 'singleton slot of time', count: counts['slots']!, hint: 'nothing keeps later jobs of the slot away' },
      { what: 'dead letter queue', count: counts['letters']!, hint: 'taskstream limits <topic> --dead-letter <topic>' },
      { what: 'trace context', count: counts['traces']!, hint: 'the spans of these jobs begin a new trace' },
    ),
  }),
  take: (at, queue, size) => sql`
    with next as (
      select id, row_number() over () as place from (
        select id from ${at('job')} where name = ${queue} and ${isWaiting} and ${fits}
        order by priority desc, created_on, id limit ${size} for update skip locked
      ) as chosen
    ), gone as (delete from ${at('job')} as job using next where job.name = ${queue} and job.id = next.id returning job.*, next.place)
    select id::text as id, data::text as data, singleton_key, group_id, priority, retry_limit, retry_count,
      started_on is not null as was_tried, expire_seconds,
      case when isfinite(created_on) then (extract(epoch from created_on) * 1000000)::bigint end::text as created,
      case when isfinite(keep_until) and keep_until < ${raw(endOfDates)} then (extract(epoch from keep_until) * 1000)::bigint::text end as keep_until,
      case when start_after > clock_timestamp() then (extract(epoch from start_after) * 1000)::bigint::text end as due
    from gone order by place`,
  toJob: (row, queue) => ({
    externalId: `pg-boss:${queue}:${String(row['id'])}:${String(row['created'])}`,
    name: queue,
    input: row['data'] === null || row['data'] === 'null' ? undefined : String(row['data']),
    fields: { 'singleton-key': row['singleton_key'] as string | null, group: row['group_id'] as string | null },
    dueMs: row['due'] === null ? undefined : Number(row['due']),
    deadlineMs: row['keep_until'] === null ? undefined : Number(row['keep_until']),
    priority: Number(row['priority']),
    // pg-boss counts a retry when the job is taken again. So a job that has failed once still has the count 0.
    triesLeft: Number(row['retry_limit']) - Number(row['retry_count']) + (row['was_tried'] ? 0 : 1),
    timeoutMs: Number(row['expire_seconds']) * 1_000,
  }),
}
