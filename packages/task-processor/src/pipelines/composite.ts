import { checkInteger, checkNames, checkText, invalid, optionNames, taskLimits } from '@taskstream/task-api'
import type { HeldTask, SupplementToken, TaskSupplement } from '@taskstream/task-api'
import { nameOf } from '../handlers/apply-contexts.ts'
import type { TaskContext, TaskContextFactory } from '../handlers/task-context.ts'
import type { TaskHandlerFactory } from '../core/task-handler.ts'
import { eachRun } from './each-run.ts'
import { openComposite } from './open-composite.ts'
import type { PendingOnClose } from './pending-batch.ts'
import type {
  BatchOptions,
  BatchStep,
  EachOptions,
  EachStep,
  RunnableStep,
  Step,
  StepRun,
  ValueOptions,
  ValueStep,
} from './step.ts'
import { toMermaid } from './to-mermaid.ts'

export interface CompositeOptions<Transaction> {
  /** How many batches are handled at a time, 0 to 100, including those that are being completed. 0 counts as 1. Default: the topic's own. */
  readonly concurrency?: number
  /**
   * What is done with unfinished batches when the composite is closed. Default `'handle'`.
   *
   * - `'handle'`: the close waits until they are done
   * - `'return'`: they are handed back, undone
   * - `'fail'`: all their tasks fail with TaskError SHUTDOWN
   *
   * With `'return'` and `'fail'`, running steps are asked to let go, and the close does not wait for them. A batch whose completion has
   * begun is left alone.
   */
  readonly pendingOnClose?: PendingOnClose
  /** Contexts that work in the completing transaction, in this order. Without contexts, a batch is completed in one round trip. */
  readonly contexts?: readonly (TaskContext<Transaction> | TaskContextFactory<Transaction>)[]
  /** Makes the supplement of each batch. Default: an empty one. */
  readonly supplement?: (tasks: readonly HeldTask[]) => TaskSupplement
  /**
   * Wraps a step, to measure or trace it. Called once for each step when a topic begins to be processed.
   *
   * @example
   * decorate: ({ id }, run) => async (tasks, ...rest) => {
   *   const began = performance.now()
   *   try { return await run(tasks, ...rest) }
   *   finally { record(id, tasks.length, performance.now() - began) }
   * }
   */
  readonly decorate?: (step: Step, run: StepRun) => StepRun
}

const names = optionNames<CompositeOptions<never>>('composite', {
  concurrency: true,
  pendingOnClose: true,
  contexts: true,
  supplement: true,
  decorate: true,
})
const batchNames = optionNames<BatchOptions<never>>('a step', { after: true })
const eachNames = optionNames<ValueOptions<never, never>>('a step', { after: true, concurrency: true, provides: true })

/**
 * A handler made of steps. A composite is immutable: adding a step returns a new composite, so several composites can share their first
 * steps. `Ids` are the ids of the steps so far.
 */
export interface Composite<Transaction, Ids extends string = never> extends TaskHandlerFactory<Transaction> {
  /** The steps in the order in which they were added. Each step comes after those that it waits for. */
  readonly steps: readonly Step[]
  /**
   * Adds a step that handles each task by itself, and several tasks at a time. With `provides`, the returned value is registered for its
   * task in the supplement, where later steps `require` it.
   *
   * @param id 1 to 100 characters
   * @throws TaskError ARGUMENT_INVALID if the id is taken, or a step that it waits for was not added before
   * @example
   * .each('parse', (task) => parse(task.input), { provides: Parsed })
   * .each('check', (task, supplement) => { check(supplement.require(Parsed, task)) }, { after: ['parse'], concurrency: 1 })
   */
  each<Id extends string, Value>(
    id: Id,
    handle: ValueStep<NoInfer<Value>>,
    options: ValueOptions<Ids, Value>,
  ): Composite<Transaction, Ids | Id>
  each<Id extends string>(id: Id, handle: EachStep, options?: EachOptions<Ids>): Composite<Transaction, Ids | Id>
  /**
   * Adds a step that handles the tasks of a batch together.
   *
   * @param id 1 to 100 characters
   * @throws TaskError ARGUMENT_INVALID if the id is taken, or a step that it waits for was not added before
   * @example
   * .batch('latest', duplicates.outdated())
   */
  batch<Id extends string>(id: Id, handle: BatchStep, options?: BatchOptions<Ids>): Composite<Transaction, Ids | Id>
  /**
   * Returns the steps as a Mermaid flowchart. Steps of single tasks are rounded boxes, and steps of batches are boxes with double sides.
   * Contexts are cylinders at the end, as they work in the completing transaction.
   */
  toMermaid(): string
}

/**
 * Makes a handler of steps, which are added by `each` and `batch`. A step without `after` gets all tasks at once. Any other step runs when
 * the steps that it waits for have ended, and gets the tasks that all of them continued. Steps that do not wait for each other run at the
 * same time. The final decision about a task is the weightiest one of its steps: failure, suspension, filter, success, in this order.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const Parsed = supplementToken<Invoice>('parsed')
 * const pipeline = composite()
 *   .each('parse', (task) => parse(task.input), { provides: Parsed })
 *   .each('validate', (task, supplement) => validate(supplement.require(Parsed, task)), { after: ['parse'] })
 *   .batch('enrich', enrichAll, { after: ['parse'] })                                     // beside 'validate'
 *   .batch('send', sendAll, { after: ['validate', 'enrich'] })
 * node.process('invoices', { handler: pipeline })
 */
export function composite<Transaction = unknown>(options: CompositeOptions<Transaction> = {}): Composite<Transaction> {
  checkNames(names, options)
  const { concurrency, pendingOnClose = 'handle', contexts = [], supplement, decorate } = options
  if (concurrency !== undefined) checkInteger('concurrency', concurrency, 0, 100)
  if (!['handle', 'return', 'fail'].includes(pendingOnClose))
    throw invalid('pendingOnClose', pendingOnClose, "must be 'handle', 'return' or 'fail'")
  if (!Array.isArray(contexts)) throw invalid('contexts', contexts, 'must be a list')
  for (const [index, context] of (contexts as readonly unknown[]).entries())
    if (typeof context !== 'object' || context === null)
      throw invalid(`contexts[${index}]`, context, 'must be a context, or a factory of contexts')
  if (supplement !== undefined) checkFunction('supplement', supplement)
  if (decorate !== undefined) checkFunction('decorate', decorate)
  return withSteps(options, [])
}

function withSteps<Transaction, Ids extends string>(
  options: CompositeOptions<Transaction>,
  steps: readonly RunnableStep[],
): Composite<Transaction, Ids> {
  const add = <Id extends string>(step: RunnableStep): Composite<Transaction, Ids | Id> => withSteps(options, [...steps, step])
  return {
    steps: steps.map(({ id, kind, after }) => ({ id, kind, after })),
    each: <Id extends string>(
      id: Id,
      handle: EachStep | ValueStep<unknown>,
      options: EachOptions<Ids> & { readonly provides?: Pick<SupplementToken<unknown>, 'name'> } = {},
    ) => {
      checkNames(eachNames, options)
      const { after, concurrency = 10, provides } = options
      const step = { ...describe(id, handle, after, steps), kind: 'each' } as const
      checkInteger('concurrency', concurrency, 1, taskLimits.pollSize)
      return add<Id>({ ...step, run: eachRun(handle, concurrency, provides as SupplementToken<unknown> | undefined) })
    },
    batch: (id, handle, options = {}) => {
      checkNames(batchNames, options)
      return add({ ...describe(id, handle, options.after, steps), kind: 'batch', run: async (...given) => handle(...given) })
    },
    toMermaid: () => toMermaid(steps, (options.contexts ?? []).map(nameOf)),
    open: () => openComposite(options, steps),
  }
}

function describe(
  id: string,
  handle: unknown,
  after: readonly string[] = [],
  steps: readonly Step[],
): Pick<Step, 'id' | 'after'> {
  checkText('the id of a step', id, 100)
  if (steps.some((step) => step.id === id)) throw invalid('the id of a step', id, 'must not be that of another')
  checkFunction(`step "${id}"`, handle)
  if (!Array.isArray(after)) throw invalid(`step "${id}": after`, after, 'must be an array of the ids of steps')
  for (const awaited of after as readonly string[]) {
    // A step may wait for earlier steps only, so there are no cycles.
    if (!steps.some((step) => step.id === awaited))
      throw invalid(
        `step "${id}": after`,
        awaited,
        `must name steps that were added before it, which are ${steps.map((step) => JSON.stringify(step.id)).join(', ') || 'none'}`,
      )
  }
  return { id, after: [...new Set(after as readonly string[])] }
}

function checkFunction(argument: string, value: unknown): void {
  if (typeof value !== 'function') throw invalid(argument, value, 'must be a function')
}
