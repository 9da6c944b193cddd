import { checkNames, optionNames } from './option-names.ts'
import { TaskDecision } from './task-decision.ts'
import { TaskError } from './task-error.ts'
import type { TaskResult } from './task-state.ts'
import { TaskSupplement } from './task-supplement.ts'
import { taskKey, taskToString } from './task.ts'
import type { Task } from './task.ts'

/** Decides about a batch by who is a duplicate of whom: a decision for every task, in the order of the tasks. */
export type DuplicationFilter<Base extends Task> = <T extends Base>(
  tasks: Iterable<T>,
  supplement?: TaskSupplement,
) => Map<T, TaskDecision>

export interface DuplicationOptions<Base extends Task> {
  /** Tasks of the same key are duplicates of each other. Default: the identifier. */
  readonly key?: (task: Base, supplement: TaskSupplement) => string
  /** What becomes of the duplicates that are not kept. */
  readonly result?: TaskResult
}

const names = optionNames<DuplicationOptions<Task>>('a filter of duplicates', { key: true, result: true })

/** Chooses which of a group of duplicates, two or more in the order of the batch, are kept: any of them, or none. */
export type DuplicateSelector<Base extends Task> = (
  tasks: readonly Base[],
  supplement: TaskSupplement,
  key: string,
) => Iterable<Base>

/** A message is kept with every duplicate: a group of thousands must not make each of them long. */
const named = 20

/** Filters of duplicates within a batch. What is no duplicate, or is kept, succeeds; the others' message says of what, and what is kept. */
export const duplicates: {
  /**
   * No member of a group of duplicates is kept; by default they fail.
   *
   * @example
   * const decisions = duplicates.all()(batch)
   */
  readonly all: <Base extends Task = Task>(options?: DuplicationOptions<Base>) => DuplicationFilter<Base>
  /** The highest sequence of each group is kept; by default the others are filtered. */
  readonly outdated: <Base extends Task = Task>(options?: DuplicationOptions<Base>) => DuplicationFilter<Base>
  /**
   * `select` says what is kept of each group; by default the others are filtered.
   *
   * @returns a filter that throws TaskError TASK_UNKNOWN if `select` keeps what is not of the group
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

/** A task that stands twice in a batch is no duplicate of itself. */
function distinct<T extends Task>(group: readonly T[]): readonly T[] {
  return [...new Map(group.map((task) => [taskKey(task), task])).values()]
}

function keep(chosen: Iterable<Task>, members: readonly Task[], key: string): ReadonlyMap<string, Task> {
  const known = new Set(members.map(taskKey))
  const kept = new Map<string, Task>()
  for (const task of chosen) {
    if (!known.has(taskKey(task))) {
      throw new TaskError('TASK_UNKNOWN', `${taskToString(task)} is kept of the duplicates of "${key}", and is none of them`, {
        task,
      })
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
