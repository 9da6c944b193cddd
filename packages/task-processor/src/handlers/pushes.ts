import {
  checkNames,
  checkText,
  checkTopic,
  creationNames,
  invalid,
  optionNames,
  TaskError,
  taskLimits,
  taskToString,
  verbOptions,
} from '@taskstream/task-api'
import type { HeldTask, Insertion, Junction, PushOptions, TaskCreation } from '@taskstream/task-api'

/** The creations that are pushed for a task. */
export type Creations = string | TaskCreation | readonly (string | TaskCreation)[]

/** Returns a changed creation for one that is pushed for a task. */
export type Postprocess = (creation: TaskCreation, task: HeldTask) => TaskCreation

export interface JoinOptions {
  /** When the tasks of a group become ready. Default `'singular'`: once each identifier has a suspended task. */
  readonly junction?: Junction
}

const joinNames = optionNames<JoinOptions>('junctionByTask', { junction: true })

/** Takes the pushes that steps ask for. They are made when the tasks are completed. */
export interface Pushes {
  /**
   * Pushes to a topic for each of these tasks that all steps go on to continue.
   *
   * @param tasks one or many, of those of the batch; none asks for nothing
   * @param creations what is pushed for each task, or what says so of a task, asked at once. A string is an identifier. Default: the
   *   task's own identifier, without input
   * @param options with `insertion`: what becomes of older tasks of these identifiers. What is asked for with another insertion is another
   *   push, in the order of asking
   * @throws TaskError ARGUMENT_INVALID if a task is not of the batch, or a creation not one that could be pushed; LIFECYCLE when the
   *   steps have ended
   * @example
   * pushes.pushByTask(task, 'mail', ({ identifier, input }) => ({ identifier, input, delayMs: 60_000 }))
   */
  pushByTask(
    tasks: HeldTask | Iterable<HeldTask>,
    topic: string,
    creations?: Creations | ((task: HeldTask) => Creations),
    options?: PushOptions,
  ): void
  /**
   * Starts what is suspended in a topic for each of these tasks that all steps go on to continue, if the group of its own identifier and
   * these has met: see `TaskJuncture`. Comes after every push of the batch.
   *
   * @param identifiers the others of each task's group, or what says so of a task, asked at once. Default: none, a group of its own
   * @throws TaskError ARGUMENT_INVALID, LIFECYCLE, as `pushByTask`
   * @example
   * pushes.junctionByTask(task, 'assemble', [`${order}:paid`, `${order}:packed`])
   */
  junctionByTask(
    tasks: HeldTask | Iterable<HeldTask>,
    topic: string,
    identifiers?: string | readonly string[] | ((task: HeldTask) => string | readonly string[]),
    options?: JoinOptions,
  ): void
}

/** What was asked for a task, of one topic: several creations, or a group of identifiers. */
export interface Asked<Kind, Item> {
  readonly topic: string
  readonly kind: Kind
  readonly task: HeldTask
  readonly items: readonly Item[]
}

/** The face that steps are given, and what has been asked there. */
export interface PushesOfBatch {
  readonly pushes: Pushes
  readonly creations: readonly Asked<Insertion, TaskCreation>[]
  readonly groups: readonly Asked<Junction, readonly string[]>[]
  /** Refuses further pushes. */
  end(): void
}

export function pushesOf(batch: readonly HeldTask[], postprocess: Postprocess): PushesOfBatch {
  const known = new Set(batch)
  const creations: Asked<Insertion, TaskCreation>[] = []
  const groups: Asked<Junction, readonly string[]>[] = []
  let ended = false
  const check = (given: HeldTask | Iterable<HeldTask>, topic: string): readonly HeldTask[] => {
    if (ended) throw new TaskError('LIFECYCLE', `Nothing can be asked of topic "${topic}" when the steps have ended`, { topic })
    checkTopic(topic)
    const tasks = Symbol.iterator in given ? [...given] : [given]
    const unknown = tasks.find((task) => !known.has(task))
    if (unknown) throw invalid('tasks', taskToString(unknown), 'must be of the batch')
    return tasks
  }
  return {
    creations,
    groups,
    end: () => {
      ended = true
    },
    pushes: {
      pushByTask: (given, topic, asked = ({ identifier }) => identifier, options = {}) => {
        checkNames(verbOptions.push, options)
        const { insertion: kind = 'append' } = options
        const added = check(given, topic).map((task) => {
          const items = list(typeof asked === 'function' ? asked(task) : asked).map((creation) =>
            postprocess(typeof creation === 'string' ? { identifier: creation } : creation, task),
          )
          // The rest is checked by the push itself: too late for the task alone, and so for the whole batch.
          for (const item of items) {
            checkText('identifier', item.identifier, taskLimits.identifierLength)
            checkNames(creationNames, item)
          }
          return { topic, kind, task, items }
        })
        creations.push(...added.filter(({ items }) => items.length > 0))
      },
      junctionByTask: (given, topic, others = [], options = {}) => {
        checkNames(joinNames, options)
        const { junction: kind = 'singular' } = options
        const added = check(given, topic).map((task) => {
          const group = [...new Set([task.identifier, ...list(typeof others === 'function' ? others(task) : others)])]
          for (const identifier of group) checkText('identifier', identifier, taskLimits.identifierLength)
          return { topic, kind, task, items: [group] }
        })
        groups.push(...added)
      },
    },
  }
}

function list<Item>(given: Item | readonly Item[]): readonly Item[] {
  return Array.isArray(given) ? (given as readonly Item[]) : [given as Item]
}
