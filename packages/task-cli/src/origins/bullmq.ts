/** The queues of BullMQ on Redis. A job is removed there once its task is committed here. */
import { taskLimits } from '@taskstream/task-api'
import type { PushedTask } from '@taskstream/task-api'
import { CommandError } from '../core/exit-codes.ts'
import { answerOf, clientOf, openQueue } from './bullmq-client.ts'
import type { BullJob, BullQueue } from './bullmq-client.ts'
import { remarks } from './origin.ts'
import type { Origin, OriginRequest, Push, Survey } from './origin.ts'
import { keyFields, keyOf, leastPriority, mostPriority, toCreation } from './waiting-job.ts'
import type { WaitingJob } from './waiting-job.ts'

/** The states of jobs that wait, in the order in which they are taken. Release 5 has those of a paused queue in a list of their own. */
const waitingStates = ['waiting', 'paused', 'prioritized', 'delayed']

/** So many jobs are read at a time. */
const readAtOnce = 200

/** Why a job stays where it is. */
type Staying = 'flow' | 'scheduled' | 'large' | 'unreadable'

interface Moving {
  readonly job: BullJob
  readonly waiting: WaitingJob
  readonly staying?: undefined
}

type Found = Moving | { readonly id: string; readonly staying: Staying }

/**
 * Opens a queue.
 *
 * @param place the address without its password
 * @throws CommandError missing, if there is no such queue
 * @throws TaskError ARGUMENT_INVALID, DATABASE_UNAVAILABLE
 */
export async function openBullMq(url: string, place: string, request: OriginRequest, push: Push): Promise<Origin> {
  const { queue: name, space, key = keyFields.bullmq[0] } = request
  const queue = await openQueue(url, place, name, space)
  const close = (): Promise<void> => queue.close()
  try {
    const client = await clientOf(queue)
    const known = Object.keys(await client.hgetall(queue.toKey('meta'))).length > 0
    if (!known) throw new CommandError('missing', `no queue "${name}" of BullMQ in ${place}: see its name, and --from-prefix`)
  } catch (error) {
    await close()
    throw error
  }
  let rest: string[] | undefined
  const move = async (size: number): Promise<readonly PushedTask[]> => {
    await checkQuiet(queue, name, place)
    rest ??= await waitingIds(queue)
    while (rest.length > 0) {
      const found = (await read(queue, name, rest.splice(0, size))).filter((each) => each.staying === undefined)
      if (found.length === 0) continue
      const pushed = await push(found.map(({ waiting }) => toCreation(waiting, key, request)))
      await remove(found, pushed)
      return pushed
    }
    return []
  }
  return {
    place,
    survey: () => answerOf(place, surveyOf(queue, name, key)),
    move: (size) => answerOf(place, move(size)),
    [Symbol.asyncDispose]: close,
  }
}

/** @throws CommandError refused, if a worker may take a job between its push and its removal: it would be done there and here */
async function checkQuiet(queue: BullQueue, name: string, place: string): Promise<void> {
  if (await queue.isPaused()) return
  const workers = await queue.getWorkersCount()
  if (workers > 0)
    throw new CommandError(
      'refused',
      `${workers} ${workers === 1 ? 'worker takes' : 'workers take'} jobs of ${name} in ${place}: stop them, or pause the queue`,
    )
}

async function waitingIds(queue: BullQueue): Promise<string[]> {
  const counts = await queue.getJobCounts()
  const ids: string[] = []
  for (const state of waitingStates)
    if ((counts[state] ?? 0) > 0) for (const id of await queue.getRanges([state], 0, -1, true)) ids.push(id)
  // A job that has changed its state between two looks is in both.
  return [...new Set(ids)]
}

/** Reads jobs, without those that have ended or are gone. */
async function read(queue: BullQueue, name: string, ids: readonly string[]): Promise<readonly Found[]> {
  const client = await clientOf(queue)
  const now = Date.now()
  const found: Found[] = []
  for (let at = 0; at < ids.length; at += readAtOnce) {
    const some = await Promise.all(
      ids.slice(at, at + readAtOnce).map(async (id): Promise<Found | undefined> => {
        const [job, score] = await Promise.all([jobOf(queue, id), client.zscore(queue.toKey('delayed'), id)])
        if (job === 'unreadable') return { id, staying: job }
        if (job === undefined || job.finishedOn !== undefined) return undefined
        const waiting = toWaiting(job, name, score === null ? undefined : dueOf(score, now))
        const staying = await stayingOf(job, waiting)
        return staying === undefined ? { job, waiting } : { id, staying }
      }),
    )
    for (const each of some) if (each !== undefined) found.push(each)
  }
  return found
}

/** Reads a job. What others have written into Redis need not be JSON, and must not keep the rest from moving. */
async function jobOf(queue: BullQueue, id: string): Promise<BullJob | undefined | 'unreadable'> {
  try {
    return await queue.getJob(id)
  } catch (error) {
    if (error instanceof SyntaxError) return 'unreadable'
    throw error
  }
}

/** The instant of a delayed job: its score has that in milliseconds, and a counter in the last twelve bits. */
function dueOf(score: string, now: number): number | undefined {
  const due = Math.floor(Number(score) / 4_096)
  return due > now ? due : undefined
}

function toWaiting(job: BullJob, name: string, dueMs: number | undefined): WaitingJob {
  const input = JSON.stringify(job.data)
  return {
    // An id that is free again may be given to another job.
    externalId: `bullmq:${name}:${job.id}:${job.timestamp}`,
    name: job.name,
    input: input === undefined || input === 'null' ? undefined : input,
    fields: { deduplication: job.opts.deduplication?.id },
    dueMs,
    // There the lower number comes first, and jobs without one before all others.
    priority: 0 - (job.priority ?? 0),
    triesLeft: (job.opts.attempts ?? 1) - job.attemptsMade,
  }
}

async function stayingOf(job: BullJob, { externalId, input = '', fields }: WaitingJob): Promise<Staying | undefined> {
  if (job.repeatJobKey !== undefined) return 'scheduled'
  // To remove a child would start its parent, and a parent would lose the results of its children.
  if (job.parentKey !== undefined) return 'flow'
  if (Object.values(await job.getDependenciesCount()).some((count) => count > 0)) return 'flow'
  const { externalIdLength, identifierLength, inputLength } = taskLimits
  const isLarge = externalId.length > externalIdLength || input.length > inputLength
  return isLarge || (fields['deduplication']?.length ?? 0) > identifierLength ? 'large' : undefined
}

/** @throws CommandError failed, if a worker has taken a job after all */
async function remove(found: readonly Moving[], pushed: readonly PushedTask[]): Promise<void> {
  const results = await Promise.allSettled(found.map(({ job }) => job.remove()))
  const at = results.findIndex(({ status }) => status === 'rejected')
  if (at < 0) return
  const { reason } = results[at] as PromiseRejectedResult
  const count = results.filter(({ status }) => status === 'rejected').length
  throw new CommandError(
    'failed',
    `${count} of the jobs that were pushed could not be removed, the first is ${found[at]!.job.id}: ${String((reason as Error).message)}. ` +
      `If a worker has it, cancel its task, which is @${pushed[at]!.sequence}; then import again`,
  )
}

async function surveyOf(queue: BullQueue, name: string, key: string): Promise<Survey> {
  const counts = await queue.getJobCounts()
  const tally: Record<string, number> = {}
  const count = (what: string, is: boolean): void => void (tally[what] = (tally[what] ?? 0) + (is ? 1 : 0))
  let unreadable: string | undefined
  const ids = await waitingIds(queue)
  for (let at = 0; at < ids.length; at += readAtOnce)
    for (const each of await read(queue, name, ids.slice(at, at + readAtOnce))) {
      if (each.staying !== undefined) {
        count(each.staying, true)
        if (each.staying === 'unreadable') unreadable ??= each.id
        continue
      }
      const { job, waiting } = each
      const { opts } = job
      count('waiting', true)
      count('prioritized', waiting.priority !== 0)
      count('keyed', keyOf(waiting, key) !== undefined)
      count('pauses', opts.backoff !== undefined && waiting.triesLeft > 1)
      count('extreme', waiting.priority < leastPriority)
      count('windows', opts.deduplication?.ttl !== undefined)
      count('deduplicated', key !== 'deduplication' && opts.deduplication !== undefined)
      count('traces', opts.telemetry !== undefined)
    }
  const of = (what: string): number => tally[what] ?? 0
  return {
    waiting: of('waiting'),
    prioritized: of('prioritized'),
    keyed: of('keyed'),
    left: remarks(
      { what: 'active', count: counts['active'] ?? 0, hint: 'let their workers finish them, then import again' },
      {
        what: 'in a flow',
        count: of('flow') + (counts['waiting-children'] ?? 0),
        hint: 'let the flow end, or push it anew with needs',
      },
      { what: 'of a job scheduler', count: of('scheduled'), hint: 'define a timer, and remove the scheduler' },
      { what: 'too large', count: of('large'), hint: 'an id or key of 500 characters and a payload of 16,777,216 are the most' },
      {
        what: 'without readable JSON',
        count: of('unreadable'),
        hint: `mend or remove them in Redis; the first is ${unreadable}`,
      },
      { what: 'failed', count: counts['failed'] ?? 0, hint: 'retry them in BullMQ first, if they are still wanted' },
    ),
    lost: remarks(
      { what: 'backoff', count: of('pauses'), hint: 'the option retry of the definition says the pauses' },
      { what: `priority beyond ${mostPriority}`, count: of('extreme'), hint: 'they all come last, in their order' },
      { what: 'time of deduplication', count: of('windows'), hint: 'nothing keeps later jobs of the key away' },
      { what: 'deduplication id', count: of('deduplicated'), hint: '--key deduplication makes it the identifier' },
      { what: 'trace context', count: of('traces'), hint: 'the spans of these jobs begin a new trace' },
    ),
  }
}
