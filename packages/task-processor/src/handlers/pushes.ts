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

/** One creation or several, to be pushed for a task. A string is an identifier. */
export type Creations = string | TaskCreation | readonly (string | TaskCreation)[]

/** Returns a changed creation for one that is pushed for a task. */
export type Postprocess = (creation: TaskCreation, task: HeldTask) => TaskCreation

export interface JoinOptions {
  /** When the tasks of a group become ready. Default `'singular'`: once each identifier has a suspended task. */
  readonly junction?: Junction
}

const joinNames = optionNames<JoinOptions>('junctionByTask', { junction: true })

/** Collects the pushes that steps ask for. The pushes are made in the transaction that completes the tasks. */
export interface Pushes {
  /**
   * Asks for a push to a topic for each of these tasks. A task counts only if all steps continue it in the end.
   *
   * @param tasks one task of the batch, or several; without a task the call does nothing
   * @param creations what to push for each task: creations, or a function that is called at once and returns the creations for a task.
   *   A string is an identifier. Default: the task's own identifier, without input
   * @param options `insertion` says what happens to older tasks of these identifiers. Calls with different insertions become separate
   *   pushes, in the order of the calls
   * @throws TaskError ARGUMENT_INVALID if a task is not of the batch, or if a creation has an invalid identifier or an unknown property;
   *   LIFECYCLE when the steps have ended
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
   * Asks for a junction in a topic for each of these tasks: the suspended tasks of its group become ready once the group is complete (see
   * `TaskJuncture`). A task counts only if all steps continue it in the end. Junctions come after every push of the batch.
   *
   * @param identifiers the group of each task besides its own identifier, or a function that is called at once and returns these
   *   identifiers. Default: none, so that the group is the task's own identifier
   * @throws TaskError ARGUMENT_INVALID, LIFECYCLE, as for `pushByTask`
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

/** One request for a task and a topic: the items are creations, or groups of identifiers. */
export interface Asked<Kind, Item> {
  readonly topic: string
  readonly kind: Kind
  readonly task: HeldTask
  readonly items: readonly Item[]
}

/** The `Pushes` that the steps of a batch use, and the requests that it has collected. */
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
          // The push itself checks the rest, but an error there fails the whole batch and not this task alone.
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
