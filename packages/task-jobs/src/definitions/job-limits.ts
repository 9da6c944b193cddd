import { checkInteger, checkLimits, checkNames, checkTopic, invalid, optionNames } from '@taskstream/task-api'
import type { TopicLimits } from '@taskstream/task-api'
import type { AnyJob } from './define-job.ts'
import type { Queue } from './define-queue.ts'
import { SubKeys } from './sub-keys.ts'

/** Limits that all processes keep together, of a queue or of the jobs of one definition. */
export interface JobLimits extends Omit<TopicLimits, 'deadLetter'> {
  /** The queue to which a copy of each job is pushed that has failed, in the transaction in which it fails: its definition, or its name. */
  readonly deadLetter?: string | Queue
  /**
   * How many jobs of a key are handled at a time, 2 to 100, by all processes together: never more. For 1 there is `ordered`. Needs a `key`, and in a queue
   * makes it keyed.
   *
   * Each push gives its job one of so many sub-keys, in turn, and of each sub-key one job is handled at a time, in the order of the pushes. So a job may
   * wait for the one before it in its sub-key, or for that one's time or retry, while fewer than `perKey` are handled; and jobs of different sub-keys are in
   * no order. `{ key }` selects the jobs of all `perKey` sub-keys.
   *
   * It belongs to the definition, and is not stored as the other limits are: give all processes the same. After it was lowered, the sub-keys that are left
   * over run on until they are empty, and `{ key }` does not find their jobs.
   *
   * @example
   * const sync = defineJob('sync', { input: Order, key: ({ customer }) => customer, limits: { perKey: 3 } })
   */
  readonly perKey?: number
}

const names = optionNames<JobLimits>('limits', { total: true, rate: true, maxEntries: true, deadLetter: true, perKey: true })

/** What the definition of a job or a queue says of its limits. */
export interface DefinedLimits {
  /** Undefined if there are none to be stored. */
  readonly limits: CheckedLimits | undefined
  /** Undefined unless there is a limit of the jobs of a key. */
  readonly subKeys: SubKeys | undefined
}

/** Checked limits, and the queue of dead letters if it was given by its definition. */
export interface CheckedLimits {
  readonly stored: TopicLimits
  readonly deadLetter: Queue | undefined
}

/** @throws TaskError ARGUMENT_INVALID */
export function checkedLimits(name: string, limits: JobLimits | undefined): DefinedLimits {
  if (limits === undefined) return { limits: undefined, subKeys: undefined }
  if (typeof limits !== 'object' || limits === null) throw invalid('limits', limits, 'must be an object, such as { total: 10 }')
  checkNames(names, limits)
  const { perKey, ...others } = limits
  if (perKey === 1) throw invalid('perKey', perKey, 'must be 2 to 100: for one job of a key at a time, say { ordered: true }')
  if (perKey !== undefined) checkInteger('perKey', perKey, 2, 100)
  const subKeys = perKey === undefined ? undefined : new SubKeys(perKey)
  // With nothing to store, a start does not touch what is stored.
  const isStored = subKeys === undefined || Object.values(others).some((value) => value !== undefined)
  return { limits: isStored ? storedLimits(name, others) : undefined, subKeys }
}

function storedLimits(name: string, { deadLetter, ...others }: Omit<JobLimits, 'perKey'>): CheckedLimits {
  checkTopic(name)
  const queue = typeof deadLetter === 'object' ? deadLetter : undefined
  if (queue !== undefined && queue?.settings?.what !== 'queue')
    throw invalid('deadLetter', deadLetter, 'must be made by defineQueue, or be the name of a queue')
  if (queue?.settings.signed !== undefined)
    throw invalid('deadLetter', queue.name, 'must not be a queue that is signed: copies of failed jobs have no signature of it')
  const stored = { ...others, ...(deadLetter !== undefined && { deadLetter: queue?.name ?? (deadLetter as string) }) }
  checkLimits(name, stored)
  return { stored, deadLetter: queue }
}

/** Whether a push of the job may find its topic full. */
export function isLimited({ settings: { limits } }: Pick<AnyJob, 'settings'>): boolean {
  return limits?.stored.maxEntries !== undefined
}
