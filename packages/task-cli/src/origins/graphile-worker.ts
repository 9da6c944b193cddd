/** The jobs of graphile-worker from release 0.16 on, read from its tables. */
import { taskLimits } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { remarks } from './origin.ts'
import type { SqlOrigin } from './sql-origin.ts'
import { mostPriority } from './waiting-job.ts'

/** Jobs that no worker has, of queues that no worker has. In these words the index of graphile-worker's own fetch is found. */
const isWaiting = raw('jobs.is_available = true and queues.locked_at is null')
/** Later instants have no date here, as `infinity` has none. */
const endOfDates = `'9999-12-31'`
const fits = raw(
  `length(coalesce(jobs.key, '')) <= ${taskLimits.identifierLength} and length(jobs.payload::text) <= ${taskLimits.inputLength} and jobs.run_at < ${endOfDates}`,
)

function jobsOf(at: (table: string) => Statement, task: string): Statement {
  return sql`${at('_private_jobs')} as jobs join ${at('_private_tasks')} as tasks on tasks.id = jobs.task_id and tasks.identifier = ${task}
    left join ${at('_private_job_queues')} as queues on queues.id = jobs.job_queue_id`
}

export const graphileWorker: SqlOrigin = {
  name: 'graphile-worker',
  schema: 'graphile_worker',
  since: '0.16',
  columns: ['_private_jobs', 'job_queue_id', 'task_id', 'payload', 'key', 'revision', 'flags', 'locked_at', 'is_available'],
  payload: 'payload',
  fields: { 'job-key': 'key', 'queue-name': 'queue_name' },
  queues: (at) => sql`select identifier as name from ${at('_private_tasks')} order by identifier`,
  survey: (at, task, field) => sql`
    select count(*) filter (where moves) as waiting,
      count(*) filter (where moves and priority <> 0) as prioritized,
      count(*) filter (where moves and ${field} is not null) as keyed,
      count(*) filter (where job_locked_at is not null) as active,
      count(*) filter (where job_locked_at is null and attempts < max_attempts and queue_locked_at is not null) as held,
      count(*) filter (where is_waiting and not moves) as large,
      count(*) filter (where job_locked_at is null and attempts >= max_attempts) as failed,
      count(*) filter (where moves and priority = -32768) as extreme,
      count(*) filter (where moves and key is not null) as keys,
      count(*) filter (where moves and queue_name is not null) as queues,
      count(*) filter (where moves and flags is not null and flags <> '{}') as flags,
      count(*) filter (where moves and max_attempts - attempts > 1) as pauses
    from (
      select jobs.payload, jobs.priority, jobs.key, jobs.flags, jobs.attempts, jobs.max_attempts, jobs.locked_at as job_locked_at,
        queues.queue_name, queues.locked_at as queue_locked_at, ${isWaiting} as is_waiting, ${isWaiting} and ${fits} as moves
      from ${jobsOf(at, task)}
    ) as job`,
  toSurvey: (counts, key) => ({
    waiting: counts['waiting']!,
    prioritized: counts['prioritized']!,
    keyed: counts['keyed']!,
    left: remarks(
      { what: 'active', count: counts['active']!, hint: 'let their workers finish them, then import again' },
      {
        what: 'in a named queue that a worker holds',
        count: counts['held']!,
        hint: 'let the worker finish, or call force_unlock_workers if it died',
      },
      {
        what: 'too large, or due too late',
        count: counts['large']!,
        hint: 'a key of 500 characters, a payload of 16,777,216 and the year 9999 are the most',
      },
      {
        what: 'failed for good',
        count: counts['failed']!,
        hint: 'reschedule_jobs gives them attempts again, if they are still wanted',
      },
    ),
    lost: remarks(
      { what: 'pauses between tries', count: counts['pauses']!, hint: 'the option retry of the definition says them' },
      { what: `priority beyond ${mostPriority}`, count: counts['extreme']!, hint: `it becomes ${mostPriority}` },
      { what: 'job key', count: key === 'job-key' ? 0 : counts['keys']!, hint: '--key job-key makes it the identifier' },
      {
        what: 'queue name',
        count: key === 'queue-name' ? 0 : counts['queues']!,
        hint: '--key queue-name makes it the identifier',
      },
      { what: 'flags', count: counts['flags']!, hint: 'push to a topic of its own what is sometimes held back, and pause that' },
    ),
  }),
  take: (at, task, size) => sql`
    with next as (
      select id, queue_name, row_number() over () as place from (
        select jobs.id, queues.queue_name from ${jobsOf(at, task)} where ${isWaiting} and ${fits}
        order by jobs.priority, jobs.run_at, jobs.id limit ${size} for update of jobs skip locked
      ) as chosen
    ), gone as (delete from ${at('_private_jobs')} as jobs using next where jobs.id = next.id returning jobs.*, next.queue_name, next.place)
    select id::text as id, revision, case when isfinite(created_at) then (extract(epoch from created_at) * 1000000)::bigint end::text as created, payload::text as payload, key, queue_name, priority, attempts, max_attempts,
      case when run_at > clock_timestamp() then (extract(epoch from run_at) * 1000)::bigint::text end as due
    from gone order by place`,
  toJob: (row, task) => ({
    // A job that is replaced by its key keeps its id, and gets another revision.
    externalId: `graphile-worker:${String(row['id'])}:${String(row['revision'])}:${String(row['created'])}`,
    name: task,
    input: String(row['payload']),
    fields: { 'job-key': row['key'] as string | null, 'queue-name': row['queue_name'] as string | null },
    dueMs: row['due'] === null ? undefined : Number(row['due']),
    // There the lower number comes first.
    priority: 0 - Number(row['priority']),
    triesLeft: Number(row['max_attempts']) - Number(row['attempts']),
  }),
}
