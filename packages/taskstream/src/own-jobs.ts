/** The jobs of one definition among the tasks of its topic, which is a queue with those of others, or its own. */
import { checkInteger, invalid, taskLimits } from '@taskstream/task-api'
import type { Execution, FilterState, Outcome, PageOptions, TaskInfo, TaskSelector } from '@taskstream/task-api'
import { idOf, isOf, jobNameOf, taskSelectorOf, topicOf } from '@taskstream/task-jobs'
import type { AnyJob, JobRef, JobSelector } from '@taskstream/task-jobs'
import { checked } from './definitions.ts'
import { lookThrough } from './find-tasks.ts'
import { given } from './given.ts'
import { after, firstOf } from './outcome.ts'
import type { WordedTasks } from './words.ts'

type Looking<Transaction, E extends Execution> = Pick<WordedTasks<Transaction, E>, 'page' | 'task'>

/** So many tasks of a key are read at a time. */
const portion = 1_000
const unended: readonly FilterState[] = ['active', 'ready', 'expired', 'suspended', 'delayed', 'blocked']

/** @throws TaskError ARGUMENT_INVALID unless one job is named */
export function whichOf(job: AnyJob, selector: string | JobRef): number | { readonly externalId: string } {
  const which = taskSelectorOf(checked(job), selector)
  if (typeof which === 'object' && 'identifier' in which)
    throw invalid('selector', selector, 'must be the id of a job or its reference')
  return which as number | { readonly externalId: string }
}

/** Refuses a task of another definition in the same queue. @throws TaskError ARGUMENT_INVALID */
export function checkOwn(job: AnyJob, task: TaskInfo): void {
  if (isOf(job, task)) return
  const other = jobNameOf(task)
  const whose = other === undefined ? 'was pushed without the name of a job' : `is of "${other}"`
  throw invalid('selector', idOf(task), `must be of the job "${job.name}", and ${whose} in the queue "${task.topic}"`)
}

/** Reads the task of a job. @throws TaskError ARGUMENT_INVALID if it is of another definition */
export function ownTask<Transaction, E extends Execution>(
  tasks: Looking<Transaction, E>,
  transaction: Transaction,
  job: AnyJob,
  selector: string | JobRef,
): Outcome<E, TaskInfo | undefined> {
  return after(tasks.task(transaction, topicOf(job), whichOf(job, selector)), (task) => {
    if (task) checkOwn(job, task)
    return task
  })
}

/**
 * What a verb selects by a selector of jobs. In a queue the tasks are read first, so that none of another definition is among them. So are those of a key
 * that has several identifiers: one statement then locks them all, in the order of their sequences.
 *
 * @throws TaskError ARGUMENT_INVALID if one of another definition is named
 */
export function ownSelector<Transaction, E extends Execution>(
  tasks: Looking<Transaction, E>,
  transaction: Transaction,
  job: AnyJob,
  selector: JobSelector,
): Outcome<E, TaskSelector> {
  const which = taskSelectorOf(checked(job), selector)
  const { queue, subKeys } = job.settings
  const key = typeof which === 'object' && 'identifier' in which ? (which.identifier as string) : undefined
  if (!queue && !(subKeys && key !== undefined)) return which as Outcome<E, TaskSelector>
  if (key === undefined)
    return after(ownTask(tasks, transaction, job, selector as string | JobRef), (task) => (task ? [task.sequence] : []))
  const identifiers = subKeys?.of(key) ?? [key]
  const sequences: number[] = []
  let index = 0
  let from: number | undefined
  return firstOf<E, TaskSelector>(() => {
    const filter = { identifier: identifiers[index]!, states: unended, size: portion, ...given({ after: from }) }
    return after(tasks.page(transaction, topicOf(job), filter), (read) => {
      for (const task of read) if (isOf(job, task)) sequences.push(task.sequence)
      from = read.at(-1)?.sequence
      if (read.length === portion) return undefined
      from = undefined
      return ++index === identifiers.length ? sequences : undefined
    })
  })
}

/** Reads tasks of the topic of a job. The identifier in its options is the key of the jobs, which may have several identifiers. */
export function pageOf<Transaction, E extends Execution>(
  tasks: Looking<Transaction, E>,
  transaction: Transaction,
  job: AnyJob,
): (options: PageOptions) => Outcome<E, TaskInfo[]> {
  const { subKeys } = job.settings
  const page = (options: PageOptions): Outcome<E, TaskInfo[]> => tasks.page(transaction, topicOf(job), options)
  return (options) => {
    const { identifier: key, before, size = 100 } = options
    if (!subKeys || typeof key !== 'string') return page(options)
    const identifiers = subKeys.of(key)
    const direction = before === undefined ? 1 : -1
    let found: TaskInfo[] = []
    let index = 0
    return firstOf<E, TaskInfo[]>(() =>
      after(page({ ...options, identifier: identifiers[index]! }), (read) => {
        found = [...found, ...read].toSorted((left, right) => direction * (left.sequence - right.sequence)).slice(0, size)
        return ++index === identifiers.length ? found : undefined
      }),
    )
  }
}

/** Lists the jobs of a definition. In a queue the tasks of others are passed over. */
export function ownPage<Transaction, E extends Execution>(
  tasks: Looking<Transaction, E>,
  transaction: Transaction,
  job: AnyJob,
  options: PageOptions,
): Outcome<E, readonly TaskInfo[]> {
  const page = pageOf(tasks, transaction, job)
  if (!job.settings.queue) return page(options)
  const { size = 100, ...others } = options
  checkInteger('size', size, 1, taskLimits.batchSize)
  return after(
    lookThrough<E>(page, others, (task) => isOf(job, task), { size, limit: Number.POSITIVE_INFINITY }),
    ({ tasks: found }) => found,
  )
}
