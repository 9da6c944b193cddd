/** One look at the jobs of a topic: it reads no more rows than a limit, however many the topic has. */
import { isTaskError } from '@taskstream/task-api'
import type { Execution, TaskEnding, TaskInfo } from '@taskstream/task-api'
import type { JobChange } from '@taskstream/task-jobs'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { StreamDriver } from './stream-options.ts'
import type { FollowedJob, WatchedTopic } from './watched-topic.ts'

/** So many new jobs are read. If there are more, so many of the newest ones are read too, and those between are missed. */
const newJobs = 1_000
/** So many jobs that are known are looked at by their keys. */
const followedJobs = 1_000
/** Those that have changed are read in so many portions. The others are read at the next look. */
const portions = 10
const portionSize = 100

interface Read {
  /** What is above the mark of the topic. */
  readonly fresh: readonly TaskInfo[]
  readonly changed: readonly TaskInfo[]
  readonly unchanged: readonly number[]
  readonly gone: readonly number[]
}

type Reads<Transaction> = Pick<SqlTaskRepository<Transaction, Execution>, 'page' | 'endings'>

/** @returns what has changed since the look before. @throws errors of the database */
export async function lookAtJobs<Transaction, E extends Execution>(
  { repository, transactions }: StreamDriver<Transaction, E>,
  topic: WatchedTopic,
): Promise<JobChange[]> {
  const { at } = topic
  const reads = repository as unknown as Reads<Transaction>
  const read = await transactions(async (transaction) => readJobs(reads, transaction, topic)).catch((error: unknown) => {
    // Nobody has pushed to it yet.
    if (isTaskError(error, 'TOPIC_UNKNOWN') || isTaskError(error, 'SCHEMA_MISSING'))
      return { fresh: [], changed: [], unchanged: [], gone: [] } satisfies Read
    throw error
  })
  const { fresh, changed, unchanged, gone } = read
  const changes = [...fresh, ...changed]
    .toSorted((left, right) => left.sequence - right.sequence)
    .map((task) => topic.found(task, at))
  topic.unchanged(unchanged)
  for (const sequence of gone) topic.gone(sequence, at)
  topic.looked(at, Math.max(0, ...fresh.map(({ sequence }) => sequence)))
  return changes.filter((change) => change !== undefined)
}

async function readJobs<Transaction>(reads: Reads<Transaction>, transaction: Transaction, topic: WatchedTopic): Promise<Read> {
  const { name } = topic
  const fresh = await freshJobs(reads, transaction, topic)
  const followed = topic.followed(followedJobs, new Set(fresh.map(({ sequence }) => sequence)))
  if (followed.length === 0) return { fresh, changed: [], unchanged: [], gone: [] }
  const endings = (await reads.endings(
    transaction,
    followed.map(({ sequence }) => ({ topic: name, sequence })),
  )) as readonly (TaskEnding | undefined)[]
  const isUnchanged = ({ sequence, state }: FollowedJob, ending: TaskEnding): boolean =>
    // Another task goes on with the work of one that has succeeded.
    ending.state === state && ending.task.sequence === sequence && ending.task.topic === name
  const sorted = { changed: [] as number[], unchanged: [] as number[], gone: [] as number[] }
  for (const [index, job] of followed.entries()) {
    const ending = endings[index]
    sorted[!ending ? 'gone' : isUnchanged(job, ending) ? 'unchanged' : 'changed'].push(job.sequence)
  }
  return { ...sorted, fresh, changed: await rowsOf(reads, transaction, name, sorted.changed) }
}

/** Pages have no filters here: with one, a page may read a topic to its end. */
async function freshJobs<Transaction>(
  reads: Reads<Transaction>,
  transaction: Transaction,
  { name, mark }: WatchedTopic,
): Promise<readonly TaskInfo[]> {
  const first: TaskInfo[] = mark === undefined ? [] : await reads.page(transaction, name, { after: mark, size: newJobs })
  if (mark !== undefined && first.length < newJobs) return first
  const last: TaskInfo[] = await reads.page(transaction, name, { before: Number.MAX_SAFE_INTEGER, size: newJobs })
  const end = first.at(-1)?.sequence ?? 0
  return [...first, ...last.filter(({ sequence }) => sequence > end)]
}

/** The rows of jobs. Those that were pushed one after the other are read together. */
async function rowsOf<Transaction>(
  reads: Reads<Transaction>,
  transaction: Transaction,
  topic: string,
  sequences: readonly number[],
): Promise<TaskInfo[]> {
  const wanted = new Set(sequences.toSorted((left, right) => left - right))
  const to = Math.max(...wanted)
  const found: TaskInfo[] = []
  for (let portion = 0; portion < portions && wanted.size > 0; portion++) {
    const [first = 0] = wanted
    const size = Math.min(portionSize, to - first + 1)
    const rows: TaskInfo[] = await reads.page(transaction, topic, { after: first - 1, size })
    const end = rows.length < size ? to : rows.at(-1)!.sequence
    found.push(...rows.filter(({ sequence }) => wanted.has(sequence)))
    for (const sequence of wanted) if (sequence <= end) wanted.delete(sequence)
  }
  return found
}
