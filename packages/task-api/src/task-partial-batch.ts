import { checkGiven, optionNames } from './option-names.ts'
import { TaskDecision, toDecision } from './task-decision.ts'
import { invalid } from './task-limits.ts'
import type { Task } from './task.ts'

/** Decisions on some tasks of a batch. To return nothing means no decision. */
export type PartialDecisions<T extends Task> = ReadonlyMap<T, TaskDecision> | void

export interface PartialBatchOptions<T extends Task, Rest extends readonly unknown[], Decided> {
  /** Whether a task goes to the delegate. An error of the predicate is thrown on. */
  readonly predicate: (task: T) => boolean
  /** Handles the tasks that match, in their order, if there are any. An error of the delegate becomes the decision on all of them. */
  readonly delegate: (tasks: readonly T[], ...rest: Rest) => Decided
  /** The decision on every task that the delegate has not decided on. Default: success. */
  readonly fallback?: TaskDecision
}

const names = optionNames<PartialBatchOptions<Task, [], unknown>>('partialBatch', {
  predicate: true,
  delegate: true,
  fallback: true,
})

/**
 * Makes a handler that gives only some tasks of a batch to a delegate. The handler returns a decision for every task of the batch, in their order,
 * followed by decisions of the delegate on other tasks. Arguments after the batch are passed on to the delegate.
 *
 * @returns a handler that returns a promise if the delegate does; its answer can always be awaited
 * @throws TaskError ARGUMENT_INVALID for an unknown option
 * @example
 * node.process('invoices', { handler: partialBatch({ predicate: (task) => task.input !== undefined, delegate: sendAll }) })
 */
export function partialBatch<T extends Task, Rest extends readonly unknown[]>(
  options: PartialBatchOptions<T, Rest, PartialDecisions<T>>,
): (tasks: Iterable<T>, ...rest: Rest) => Map<T, TaskDecision>
export function partialBatch<T extends Task, Rest extends readonly unknown[]>(
  options: PartialBatchOptions<T, Rest, PartialDecisions<T> | Promise<PartialDecisions<T>>>,
): (tasks: Iterable<T>, ...rest: Rest) => Map<T, TaskDecision> | Promise<Map<T, TaskDecision>>
export function partialBatch<T extends Task, Rest extends readonly unknown[]>(
  options: PartialBatchOptions<T, Rest, PartialDecisions<T> | Promise<PartialDecisions<T>>>,
): (tasks: Iterable<T>, ...rest: Rest) => Map<T, TaskDecision> | Promise<Map<T, TaskDecision>> {
  checkGiven(names, options)
  const { predicate, delegate, fallback = TaskDecision.success() } = options
  for (const [argument, value] of Object.entries({ predicate, delegate }))
    if (typeof value !== 'function') throw invalid(argument, value, 'must be a function')
  if (!(fallback instanceof TaskDecision)) throw invalid('fallback', fallback, 'must be a TaskDecision')
  return (tasks, ...rest) => {
    const batch = [...tasks]
    const matching = batch.filter((task) => predicate(task))
    const complement = (decided: PartialDecisions<T>): Map<T, TaskDecision> =>
      new Map([...batch.map((task): [T, TaskDecision] => [task, fallback]), ...(decided ?? [])])
    const refuse = (error: unknown): Map<T, TaskDecision> => {
      const decision = toDecision(error)
      return complement(new Map(matching.map((task) => [task, decision])))
    }
    if (matching.length === 0) return complement()
    try {
      const decided = delegate(matching, ...rest)
      return decided instanceof Promise ? decided.then(checked).then(complement, refuse) : complement(checked(decided))
    } catch (error) {
      return refuse(error)
    }
  }
}

/** Without this check a plain object of decisions would count as no decision, and every task as done. */
function checked<T extends Task>(decided: PartialDecisions<T>): PartialDecisions<T> {
  if (decided !== undefined && !(decided instanceof Map))
    throw invalid('delegate', decided, 'must return a Map of its tasks to decisions, or nothing')
  return decided
}
