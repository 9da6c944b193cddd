import { checkNames, optionNames } from './option-names.ts'
import { TaskDecision } from './task-decision.ts'
import { TaskError } from './task-error.ts'
import { invalid } from './task-limits.ts'
import { taskResults } from './task-state.ts'
import type { TaskResult } from './task-state.ts'
import { TaskSupplement } from './task-supplement.ts'
import { taskKey, taskToString } from './task.ts'
import type { Task } from './task.ts'

/** Finds the duplicates in a batch, and returns a decision for every task, in the order of the batch. */
export type DuplicationFilter<Base extends Task> = <T extends Base>(
  tasks: Iterable<T>,
  supplement?: TaskSupplement,
) => Map<T, TaskDecision>

export interface DuplicationOptions<Base extends Task> {
  /** The key of a task. Tasks with the same key are duplicates of each other. Default: the identifier. */
  readonly key?: (task: Base, supplement: TaskSupplement) => string
  /** The result of the duplicates that are not kept. Default: `failure` for `all`, `filter` for the others. */
  readonly result?: TaskResult
}

const names = optionNames<DuplicationOptions<Task>>('a filter of duplicates', { key: true, result: true })

/** Chooses which tasks of a group of duplicates are kept: any of them, or none. A group has two tasks or more, in the order of the batch. */
export type DuplicateSelector<Base extends Task> = (
  tasks: readonly Base[],
  supplement: TaskSupplement,
  key: string,
) => Iterable<Base>

/** How many tasks a message names. Every duplicate keeps the message, so a group of thousands must not make it long. */
const named = 20

/**
 * Filters of duplicates within a batch. A task that is kept, or has no duplicate, succeeds. The decision of the other tasks names the duplicates and
 * which of them are kept.
 */
export const duplicates: {
  /**
   * Keeps no task of a group of duplicates; by default all of them fail.
   *
   * @example
   * const decisions = duplicates.all()(batch)
   */
  readonly all: <Base extends Task = Task>(options?: DuplicationOptions<Base>) => DuplicationFilter<Base>
  /** Keeps the task with the greatest sequence of each group; by default the others are filtered. */
  readonly outdated: <Base extends Task = Task>(options?: DuplicationOptions<Base>) => DuplicationFilter<Base>
  /**
   * Keeps the tasks of each group that `select` returns; by default the others are filtered.
   *
   * @returns a filter that throws TaskError TASK_UNKNOWN if `select` returns a task that is not of the group
   * @example
   * const first = duplicates.select((tasks) => tasks.slice(0, 1))
   */
  readonly select: <Base extends Task = Task>(
    select: DuplicateSelector<Base>,
    options?: DuplicationOptions<Base>,
  ) => DuplicationFilter<Base>
} = {
  all: (options = {}) => filter(() => [], options, 'failure'),
  outdated: (options = {}) => filter((tasks) => [tasks.reduce(later)], options),
  select: (select, options = {}) => filter(select, options),
}

function filter<Base extends Task>(
  select: DuplicateSelector<Base>,
  options: DuplicationOptions<Base>,
  otherwise: TaskResult = 'filter',
): DuplicationFilter<Base> {
  checkNames(names, options)
  const { key = ({ identifier }) => identifier, result = otherwise } = options
  if (typeof key !== 'function') throw invalid('key', key, 'must be a function of a task')
  if (!taskResults.includes(result)) throw invalid('result', result, `must be one of ${taskResults.join(', ')}`)
  return <T extends Base>(tasks: Iterable<T>, supplement = new TaskSupplement()) => {
    const batch = [...tasks]
    const groups = Map.groupBy(batch, (task) => key(task, supplement))
    const decisions = new Map<T, TaskDecision>(batch.map((task) => [task, success]))
    for (const [common, group] of groups) {
      const members = distinct(group)
      if (members.length > 1) {
        const kept = keep(select(members, supplement, common), members, common)
        const decision = TaskDecision[result](message(common, members, kept))
        for (const task of group) if (!kept.has(taskKey(task))) decisions.set(task, decision)
      }
    }
    return decisions
  }
}

const success = TaskDecision.success()

/** The tasks of a group, each once: a task that stands twice in a batch is no duplicate of itself. */
function distinct<T extends Task>(group: readonly T[]): readonly T[] {
  return [...new Map(group.map((task) => [taskKey(task), task])).values()]
}

function keep(chosen: Iterable<Task>, members: readonly Task[], key: string): ReadonlyMap<string, Task> {
  const known = new Set(members.map(taskKey))
  const kept = new Map<string, Task>()
  for (const task of chosen) {
    if (!known.has(taskKey(task))) {
      throw new TaskError(
        'TASK_UNKNOWN',
        `The selector keeps ${taskToString(task)}, which is not among the duplicates of "${key}"`,
        {
          task,
        },
      )
    }
    kept.set(taskKey(task), task)
  }
  return kept
}

function message(key: string, members: readonly Task[], kept: ReadonlyMap<string, Task>): string {
  return `Duplicates of "${key}": ${list(members)}; kept: ${kept.size === 0 ? 'none' : list([...kept.values()])}`
}

function list(tasks: readonly Task[]): string {
  const names = tasks.slice(0, named).map(taskToString).join(', ')
  return tasks.length > named ? `${names} and ${tasks.length - named} more` : names
}

function later<T extends Task>(left: T, right: T): T {
  return right.sequence > left.sequence ? right : left
}
