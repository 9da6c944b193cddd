import { checkInteger, checkNames, invalid, taskLimits, verbOptions } from '@taskstream/task-api'
import type { Execution, OptionNames, Outcome, PageOptions, TaskInfo } from '@taskstream/task-api'
import { tagFilter } from '@taskstream/task-jobs'
import type { JobInfo, JobTags } from '@taskstream/task-jobs'
import { given } from './given.ts'
import { after, firstOf } from './outcome.ts'

/** So many tasks are read at a time, as their inputs are read with them. */
const portion = 200

export interface FindOptions extends Omit<PageOptions, 'size'> {
  /** Only jobs that have each of these tags, with the same value and type: `{ tenant: 7 }` does not find the tag `'7'`. */
  readonly tags: JobTags
  /** How many jobs to find at most, 1 to 100 000. Default 100. */
  readonly size?: number
  /** How many jobs to look at at most, 1 to 100 000. Default 10 000. Only those that the other filters let through are counted. */
  readonly limit?: number
}

/** Jobs that were found by their tags, and how far was looked. */
export interface FoundJobs<Name extends string = string, Given = unknown> {
  /** The jobs in the order of their pushes, or the other way round if `before` was given. */
  readonly jobs: readonly JobInfo<Name, Given>[]
  /** How many jobs were looked at. */
  readonly lookedAt: number
  /** The options by which the next call goes on. Undefined once there are no more jobs to look at: then the answer is whole. */
  readonly next: Pick<PageOptions, 'after' | 'before'> | undefined
}

/** As `FoundJobs`, of tasks. */
export interface FoundTasks extends Omit<FoundJobs, 'jobs'> {
  readonly tasks: readonly TaskInfo[]
}

const listNames: OptionNames = { ...verbOptions.page, of: 'list' }
const findNames: OptionNames = { ...verbOptions.page, of: 'find', known: new Set([...verbOptions.page.known, 'tags', 'limit']) }

type Page<E extends Execution> = (options: PageOptions) => Outcome<E, TaskInfo[]>
type Test = (task: TaskInfo) => boolean

/**
 * Looks for tasks by their tags. Tags are headers, by which no engine filters: all that the other filters let through is read in portions.
 *
 * @param page reads a portion
 * @param isOwn passes over tasks of others
 * @throws TaskError ARGUMENT_INVALID; errors of `page`
 */
export function findTasks<E extends Execution>(
  page: Page<E>,
  options: Partial<FindOptions> = {},
  isOwn: Test = () => true,
): Outcome<E, FoundTasks> {
  checkNames(findNames, options)
  const { tags, size = 100, limit = 10_000, ...filter } = options
  const hasTags = tagFilter(tags!)
  checkInteger('size', size, 1, taskLimits.batchSize)
  checkInteger('limit', limit, 1, taskLimits.batchSize)
  return lookThrough(page, filter, (task) => hasTags(task) && isOwn(task), { size, limit })
}

/** Reads tasks in portions until `size` of them pass a test, or `limit` are looked at. */
export function lookThrough<E extends Execution>(
  page: Page<E>,
  { after: from, before, ...filter }: PageOptions,
  passes: Test,
  { size: most, limit }: { readonly size: number; readonly limit: number },
): Outcome<E, FoundTasks> {
  const tasks: TaskInfo[] = []
  let lookedAt = 0
  let next: FoundJobs['next'] = given({ after: from, before })
  return firstOf<E, FoundTasks>(() => {
    const size = Math.min(portion, limit - lookedAt)
    return after(page({ ...filter, ...next, size }), (read) => {
      for (const task of read) {
        lookedAt++
        next = before === undefined ? { after: task.sequence } : { before: task.sequence }
        if (passes(task)) tasks.push(task)
        if (tasks.length === most) return { tasks, lookedAt, next }
      }
      if (read.length < size) return { tasks, lookedAt, next: undefined }
      return lookedAt === limit ? { tasks, lookedAt, next } : undefined
    })
  })
}

/** Checks the names of the options of `list`. Tags are refused, as its array could not tell how far was looked. @throws TaskError ARGUMENT_INVALID */
export function checkList(options: PageOptions & { readonly tags?: unknown }): void {
  if (options?.tags !== undefined)
    throw invalid('tags', options.tags, 'is no option of list: use find, which also says how many jobs it has looked at')
  checkNames(listNames, options)
}
