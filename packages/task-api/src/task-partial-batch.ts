import { checkNames, optionNames } from './option-names.ts'
import { TaskDecision, toDecision } from './task-decision.ts'
import { invalid } from './task-limits.ts'
import type { Task } from './task.ts'

/** Decisions of some tasks of a batch; nothing is none. */
export type PartialDecisions<T extends Task> = ReadonlyMap<T, TaskDecision> | void

export interface PartialBatchOptions<T extends Task, Rest extends readonly unknown[], Decided> {
  /** Which tasks the delegate is for. What it throws is thrown. */
  readonly predicate: (task: T) => boolean
  /** Handles the tasks that match, in their order; not called when none does. What it throws is decided for all of them. */
  readonly delegate: (tasks: readonly T[], ...rest: Rest) => Decided
  /** For every task of the batch that the delegate has not decided of. Default: success. */
  readonly fallback?: TaskDecision
}

const names = optionNames<PartialBatchOptions<Task, [], unknown>>('partialBatch', {
  predicate: true,
  delegate: true,
  fallback: true,
})

/**
 * A handler that is for some tasks of a batch. It returns a decision for every task of the batch, in their order, followed by what the
 * delegate decided of others. Arguments after the batch are handed on, so that it fits where the delegate fits.
 *
 * @returns a handler that returns a promise while an asynchronous delegate is at work: awaiting either is right
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
  checkNames(names, options)
  const { predicate, delegate, fallback = TaskDecision.success() } = options
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

/** An object of decisions, say, would otherwise count as none, and every task as done. */
function checked<T extends Task>(decided: PartialDecisions<T>): PartialDecisions<T> {
  if (decided !== undefined && !(decided instanceof Map))
    throw invalid('delegate', decided, 'must return a Map of its tasks to decisions, or nothing')
  return decided
}
