import { invalid, isTaskError, TaskDecision, TaskDecisionError, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { BatchHandler, HandlerContext, RetryPolicy } from '@taskstream/task-processor'
import type { Topic } from '../definitions/define-topic.ts'
import type { Done, InProcess } from '../jobs/in-process.ts'
import { NewerInputs } from './newer-inputs.ts'
import { idOf, tagsOf } from '../definitions/job-ref.ts'
import { inputOf } from '../definitions/task-input.ts'
import { TopicCompletion } from './topic-task.ts'
import type { TopicContext, TopicHandler, TopicTask } from './topic-task.ts'

type Decisions = Map<HeldTask, TaskDecision>

/** What a typed topic is processed by. Both go together. */
export interface TopicProcessing<Transaction> {
  readonly handler: BatchHandler<Transaction>
  readonly retry: RetryPolicy
}

/**
 * Makes the handler of a topic from one of typed tasks.
 *
 * Inputs are checked before the handler is called, and a task whose input does not fit is decided without it. An input that was checked on its first
 * access would throw in the middle of the handler's work, and its error would be that of the whole batch.
 *
 * @example
 * node.process(prices.name, { ...topicHandler(process, prices, handler), ...prices.settings.topic })
 */
export function topicHandler<Transaction, Name extends string, Given, Input>(
  process: InProcess,
  topic: Topic<Name, Given, Input>,
  handle: TopicHandler<Transaction, Input>,
): TopicProcessing<Transaction> {
  /** Tasks whose input does not fit, or is of a later release, which are being decided. */
  const misfits = new WeakMap<HeldTask, TaskDecision>()
  const newer = new NewerInputs(topic)
  return {
    handler: async (tasks, context) => {
      const refused: Decisions = new Map()
      const held: TopicTask<Input>[] = []
      const refuse = (task: HeldTask, decision: TaskDecision): void => {
        misfits.set(task, decision)
        refused.set(task, decision)
      }
      for (const task of tasks) {
        try {
          const snoozed = newer.snoozed(task, context)
          if (snoozed) refuse(task, snoozed)
          else held.push(topicTaskOf(task, inputOf(topic, task) as Input))
        } catch (error) {
          // An input that does not fit will not fit at the next try either.
          const isMisfit = isTaskError(error, 'INPUT_INVALID')
          refuse(task, isMisfit ? TaskDecision.failure(error).because('terminated') : context.failed(task, error))
        }
      }
      if (held.length === 0) return refused
      return new RunningBatch<Transaction, Input>(process, topic.name, held, refused, context).run(handle)
    },
    // An error of the handler is that of its batch. A task that the handler was never given fails for its own reason.
    retry: (task, error, draw) => {
      const decision = misfits.get(task)
      if (decision) throw new TaskDecisionError(decision)
      return topic.settings.retry(task, error, draw)
    },
  }
}

function topicTaskOf<Input>(task: HeldTask, input: Input): TopicTask<Input> {
  const { identifier, tries, attempt, maxTries, deadline } = task
  return { id: idOf(task), key: identifier, input, tries, attempt, maxTries, deadline, tags: tagsOf(task), task }
}

/** One batch of a typed topic. */
class RunningBatch<Transaction, Input> {
  readonly #process: InProcess
  readonly #topic: string
  readonly #held: readonly TopicTask<Input>[]
  readonly #refused: Decisions
  readonly #context: HandlerContext<Transaction>
  #completion: TopicCompletion<Transaction, Input> | undefined

  constructor(
    process: InProcess,
    topic: string,
    held: readonly TopicTask<Input>[],
    refused: Decisions,
    context: HandlerContext<Transaction>,
  ) {
    this.#process = process
    this.#topic = topic
    this.#held = held
    this.#refused = refused
    this.#context = context
  }

  /** Completes the batch, or returns its decisions. */
  async run(handle: TopicHandler<Transaction, Input>): Promise<Decisions | undefined> {
    const outcome = await handle(this.#held, this.#handlers())
    if (this.#completion && outcome !== this.#completion)
      throw this.#misuse('called complete and did not return what it returns: write `return complete(…)`')
    if (outcome instanceof TopicCompletion) return this.#complete(outcome)
    const { aborted } = this.#context
    // Nobody knows what a handler has done that was asked to let go and returned nothing. If its time was up, that was a try; otherwise its tasks are
    // handed back.
    if (outcome === undefined && isTaskError(aborted, 'TASK_TIMEOUT')) throw aborted
    if (outcome === undefined && aborted) return this.#refused
    return new Map([...this.#refused, ...this.#decided(outcome, this.#held)])
  }

  async #complete({ work }: TopicCompletion<Transaction, Input>): Promise<undefined> {
    let done: Done | undefined
    await this.#context.complete(async (transaction, tasks) => {
      // Each run has a transaction of its own, and what an earlier one did was rolled back.
      done = undefined
      const isHeld = new Set(tasks)
      const refused = [...this.#refused].filter(([task]) => isHeld.has(task))
      const held = this.#held.filter(({ task }) => isHeld.has(task))
      if (held.length === 0) return new Map(refused)
      done = this.#process.begin(transaction)
      const outcome = await this.#process.within(done, () => work(transaction, held))
      if (outcome instanceof TopicCompletion) throw this.#misuse('returned a completion from its completion: it has one')
      return new Map([...refused, ...this.#decided(outcome, held)])
    })
    if (done) this.#process.committed(done, this.#context.wake)
    return undefined
  }

  #handlers(): TopicContext<Transaction, Input> {
    const context = this.#context
    return {
      get signal() {
        return context.signal
      },
      complete: (work) => {
        if (this.#completion) throw this.#misuse('called complete twice: one transaction completes the batch')
        return (this.#completion = new TopicCompletion(work))
      },
      failed: ({ task }, error) => context.failed(task, error),
    }
  }

  /** Makes decisions of what the handler, or its work, has returned. Decisions of tasks that are lost meanwhile do not count. */
  #decided(outcome: unknown, held: readonly TopicTask<Input>[]): Decisions {
    const decisions: Decisions = new Map()
    if (outcome === undefined || outcome instanceof TaskDecision) {
      for (const { task } of held) decisions.set(task, outcome ?? TaskDecision.success())
      return decisions
    }
    if (!(outcome instanceof Map))
      throw invalid(
        'outcome',
        outcome,
        `of the topic "${this.#topic}" must be nothing, a TaskDecision, or a Map of tasks to decisions`,
      )
    const all = new Set<unknown>(this.#held)
    const isHeld = new Set<unknown>(held)
    for (const [one, decision] of outcome as Map<TopicTask<Input>, TaskDecision>) {
      if (!all.has(one))
        throw new TaskError(
          'TASK_UNKNOWN',
          `There is a decision of the topic "${this.#topic}" for what is no task of the batch`,
          {
            topic: this.#topic,
            task: one,
          },
        )
      if (isHeld.has(one)) decisions.set(one.task, decision)
    }
    return decisions
  }

  #misuse(what: string): TaskError {
    return new TaskError('LIFECYCLE', `The handler of the topic "${this.#topic}" ${what}`, { topic: this.#topic })
  }
}
