/** Opens queues of BullMQ with its own client, which whoever has such queues has installed. */
import { TaskError } from '@taskstream/task-api'

interface RedisClient {
  zscore(key: string, member: string): Promise<string | null>
  hgetall(key: string): Promise<Readonly<Record<string, string>>>
}

/** The part of a queue that is used here, of releases 5 and 6. */
export interface BullQueue {
  /** Of release 5. */
  readonly client?: Promise<RedisClient>
  /** Of release 6. */
  getBackend?(): { readonly client: Promise<RedisClient> }
  toKey(type: string): string
  on(event: 'error', listener: (error: Error) => void): unknown
  waitUntilReady(): Promise<unknown>
  isPaused(): Promise<boolean>
  getWorkersCount(): Promise<number>
  getJobCounts(): Promise<Readonly<Record<string, number>>>
  getRanges(types: readonly string[], start: number, end: number, ascending: boolean): Promise<string[]>
  getJob(id: string): Promise<BullJob | undefined>
  close(): Promise<void>
}

export interface BullJob {
  readonly id: string
  readonly name: string
  readonly data: unknown
  readonly opts: {
    readonly attempts?: number
    readonly backoff?: unknown
    readonly deduplication?: { readonly id: string; readonly ttl?: number }
    readonly telemetry?: object
  }
  readonly timestamp: number
  readonly priority?: number
  readonly attemptsMade: number
  readonly finishedOn?: number
  readonly parentKey?: string
  readonly repeatJobKey?: string
  getDependenciesCount(): Promise<Readonly<Record<string, number>>>
  remove(): Promise<void>
}

/** The client of a queue that is ready. */
export function clientOf(queue: BullQueue): Promise<RedisClient> {
  return (queue.getBackend?.().client ?? queue.client)!
}

/**
 * Waits for an answer of Redis.
 *
 * @param place the address without its password
 * @throws TaskError DATABASE_UNAVAILABLE if it does not come
 */
export async function answerOf<Answer>(place: string, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    // The client's error has no code.
    if (!(error instanceof Error) || error.message !== 'Command timed out') throw error
    const message = `Redis at ${place} has not answered in ${answerMs / 1_000} seconds: look after it, and give the same command again`
    throw new TaskError('DATABASE_UNAVAILABLE', message, {}, { cause: error })
  }
}

type Open = new (name: string, options: object) => BullQueue

/** Redis gets as long to answer as databases do. */
const answerMs = 10_000

/**
 * Opens a queue without writing anything, as a queue otherwise does when it is opened.
 *
 * @param place the address without its password
 * @throws TaskError ARGUMENT_INVALID if the package is missing; DATABASE_UNAVAILABLE if Redis does not answer
 */
export async function openQueue(url: string, place: string, name: string, prefix: string | undefined): Promise<BullQueue> {
  // The client is the user's, and no dependency of ours.
  const library: string = 'bullmq'
  const { Queue } = (await import(library).catch((cause: unknown) => {
    throw new TaskError(
      'ARGUMENT_INVALID',
      'Queues of BullMQ need its package: npm install bullmq ioredis',
      {},
      { cause: cause as Error },
    )
  })) as { Queue: Open }
  const connection = { url, maxRetriesPerRequest: null, connectTimeout: answerMs, commandTimeout: answerMs }
  const queue = new Queue(name, { connection, skipMetasUpdate: true, ...(prefix !== undefined && { prefix }) })
  const { promise: failed, reject } = Promise.withResolvers<never>()
  // Later errors are thrown by the calls that they concern.
  failed.catch(() => {})
  queue.on('error', reject)
  const timer = setTimeout(reject, answerMs, new Error(`no answer in ${answerMs / 1_000} seconds`))
  try {
    await Promise.race([failed, queue.waitUntilReady()])
    return queue
  } catch (error) {
    const { message } = error as Error
    queue.close().catch(() => {})
    throw new TaskError('DATABASE_UNAVAILABLE', `Redis at ${place} cannot be reached: ${message}`, {}, { cause: error as Error })
  } finally {
    clearTimeout(timer)
  }
}
