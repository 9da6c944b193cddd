import { checkNames, invalid, listOf, optionNames } from '@taskstream/task-api'
import type {
  Cancellation,
  Execution,
  Insertion,
  OptionNames,
  Outcome,
  PushedTask,
  PushOptions,
  Rescheduling,
  TaskCreation,
} from '@taskstream/task-api'
import { creationOf, taskSelectorOf, topicHandler } from '@taskstream/task-jobs'
import type { InProcess, JobPushOptions, Topic, TopicHandler } from '@taskstream/task-jobs'
import type { ProcessOptions, TaskNode } from '@taskstream/task-processor'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { said } from './words.ts'
import { rejecting } from './outcome.ts'
import type { WordedTasks } from './words.ts'

/** Options of a push to a typed topic. */
export interface TopicPushOptions<Given> {
  /** What becomes of older tasks of the same keys: `append` (default), `supersede`, `replace`, `delete`. The others need a topic that is keyed. */
  readonly insertion?: Insertion
  /**
   * Gives the options of each task: its `key`, `id`, `delayMs` and so on. They count before what the definition says.
   *
   * @example { each: ({ opensAt }) => ({ due: new Date(opensAt) }) }
   */
  readonly each?: (input: Given, index: number) => JobPushOptions
}

/** How a typed topic is processed. Its order, condition and retries are those of its definition. */
export interface TopicProcessOptions<Transaction, Input> extends Pick<
  ProcessOptions<Transaction>,
  'size' | 'concurrency' | 'mode' | 'share' | 'activation' | 'timeoutMs' | 'abortMs' | 'idleMs' | 'retainMs' | 'shares'
> {
  readonly handler: TopicHandler<Transaction, Input>
}

/** Names tasks of a topic: one by its id or by what its push returned, or all of a key. */
export type TopicSelector = string | PushedTask | { readonly key: string }

/** What a typed topic needs of its stream. */
interface TopicParts<Transaction, E extends Execution> {
  readonly tasks: WordedTasks<Transaction, E>
  readonly execution: E
  readonly process: InProcess
  readonly node: TaskNode<Transaction>
  processed(options: ProcessOptions<Transaction>): void
}

const pushNames: OptionNames = optionNames<TopicPushOptions<never>>('push', { insertion: true, each: true })
const processNames: OptionNames = optionNames<TopicProcessOptions<never, never>>('process', {
  handler: true,
  size: true,
  concurrency: true,
  mode: true,
  share: true,
  activation: true,
  timeoutMs: true,
  abortMs: true,
  idleMs: true,
  retainMs: true,
  shares: true,
})

/** A topic of a stream, with the types of its definition. `stream.topic(definition)` makes one. It holds nothing, so make one whenever you need it. */
export class TypedTopic<Transaction, E extends Execution, Name extends string, Given, Input> {
  readonly #definition: Topic<Name, Given, Input>
  readonly #parts: TopicParts<Transaction, E>

  constructor(definition: Topic<Name, Given, Input>, parts: TopicParts<Transaction, E>) {
    this.#definition = definition
    this.#parts = parts
    const { execution, process } = parts
    if (execution === 'async')
      rejecting(this, ['push', 'cancel', 'reschedule'], (transaction, outcome) => process.calling(transaction, outcome))
  }

  /** The name of the topic, for the functions of `stream.tasks`. */
  get name(): Name {
    return this.#definition.name
  }

  /**
   * Pushes tasks in your own transaction: they exist if, and only if, the transaction commits. A topic that this process does not process must be known:
   * see `prepare`.
   *
   * @param inputs up to 100 000. They are checked as the handler will get them, after JSON
   * @returns a task for each input, in their order. Under the insertion `delete`, inputs that a later one of their key replaces have none
   * @throws TaskError INPUT_INVALID, ARGUMENT_INVALID, TOPIC_UNKNOWN, TOPIC_NOT_KEYED; nothing was written
   * @example
   * await stream.topic(prices).push(tx, [{ symbol: 'EUR', price: 11.7 }], { insertion: 'supersede' })
   */
  push(
    transaction: Transaction,
    inputs: readonly Exclude<Given, undefined>[],
    options: TopicPushOptions<Given> = {},
  ): Outcome<E, PushedTask[]> {
    const { tasks, process } = this.#parts
    const creations = this.#creations(inputs, options)
    process.pushed(transaction, this.name)
    return process.pushing(transaction, () => tasks.push(transaction, this.name, ...creations))
  }

  /**
   * Pushes tasks in a transaction of their own, together with others that are submitted at the same time. Resolves after the commit.
   *
   * @throws TaskError as `push`; LIFECYCLE if the stream was stopped; errors of the database
   */
  async submit(inputs: readonly Exclude<Given, undefined>[], options: TopicPushOptions<Given> = {}): Promise<PushedTask[]> {
    const creations = this.#creations(inputs, options)
    return said<'async', PushedTask[]>('topic', this.name, () => this.#parts.node.submit(this.name, ...creations))
  }

  /**
   * Processes the topic in batches once the stream is started. Tasks whose input does not fit fail by themselves, with the reason `terminated`, and the
   * handler is not given them; nor those of a later version, which wait for a newer program. A handler that returns nothing has succeeded with all the
   * others; what it throws is a failed try of each of them.
   *
   * @throws TaskError ARGUMENT_INVALID; LIFECYCLE if the topic is processed already, or the stream was started
   * @example
   * stream.topic(prices).process({
   *   size: 500,
   *   handler: (_, { complete }) => complete(async (tx, held) => {
   *     for (const { input } of held) await tx.query('insert into price values ($1, $2)', [input.symbol, input.price])
   *   }),
   * })
   */
  process(options: TopicProcessOptions<Transaction, Input>): void {
    checkNames(processNames, options)
    const { handler, ...others } = options
    if (typeof handler !== 'function') throw invalid('handler', handler, `of the topic "${this.name}" must be a function`)
    // The start of the stream initializes the topic as it is defined.
    this.#parts.processed({ ...others, ...topicHandler(this.#parts.process, this.#definition, handler) })
  }

  /**
   * Ends tasks that have not ended, as filtered, with the reason `cancelled`. What a handler writes for one that is being handled is not kept. If all tasks
   * of its batch were cancelled, its signal is aborted within two `maintenanceIntervalMs`, which is 30 s by default.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await stream.topic(prices).cancel(tx, { key: 'EUR' })
   */
  cancel(transaction: Transaction, selector: TopicSelector): Outcome<E, Cancellation> {
    return this.#parts.tasks.cancel(transaction, this.name, taskSelectorOf(this.#definition, selector))
  }

  /**
   * Moves tasks that wait to another time, or gives them another deadline or priority.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await stream.topic(prices).reschedule(tx, { key: 'EUR' }, { delayMs: 60_000 })
   */
  reschedule(
    transaction: Transaction,
    selector: TopicSelector,
    to: Rescheduling,
  ): ReturnType<SqlTaskRepository<Transaction, E>['reschedule']> {
    const { tasks, process } = this.#parts
    process.pushed(transaction, this.name)
    return tasks.reschedule(transaction, this.name, taskSelectorOf(this.#definition, selector), to)
  }

  #creations(inputs: readonly unknown[], options: TopicPushOptions<Given>): [TaskCreation[], PushOptions] {
    checkNames(pushNames, options)
    const { each, ...pushOptions } = options
    if (!Array.isArray(inputs)) throw invalid('inputs', inputs, `of the topic "${this.name}" must be a list`)
    if (each !== undefined && typeof each !== 'function') throw invalid('each', each, 'must be a function of an input')
    return [
      listOf('inputs', inputs as readonly unknown[]).map((input, index) =>
        creationOf(this.#definition, input, each?.(input as Given, index)),
      ),
      pushOptions,
    ]
  }
}
