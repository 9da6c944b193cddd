import { invalid, TaskDecision, TaskError, taskToString } from '@taskstream/task-api'
import type { TaskSupplement } from '@taskstream/task-api'
import type { Decisions } from '../core/task-handler.ts'
import type { ContextBatch, TaskCommit, TaskContext, TaskContextFactory } from './task-context.ts'

/** A context that is open for a batch, with its name. */
export interface OpenContext<Transaction> {
  readonly name: string
  readonly context: TaskContext<Transaction>
}

/** Gives the name of a context in messages and in the flowchart. */
export function nameOf({ name }: { readonly name?: string }, index: number): string {
  return name ?? `contexts[${index}]`
}

/** Opens contexts for a batch. @throws the error of a factory */
export function openContexts<Transaction>(
  contexts: readonly (TaskContext<Transaction> | TaskContextFactory<Transaction>)[],
  batch: ContextBatch,
): OpenContext<Transaction>[] {
  return contexts.map((context, index) => ({
    name: nameOf(context, index),
    context: 'open' in context ? context.open(batch) : context,
  }))
}

/**
 * Applies contexts in `transaction`, one after the other. Each gets the decisions of the contexts before it.
 *
 * @throws the error of a context; TaskError TASK_UNKNOWN if a context decides about a task that it was not given
 */
export async function applyContexts<Transaction>(
  contexts: readonly OpenContext<Transaction>[],
  transaction: Transaction,
  decisions: Decisions,
  supplement: TaskSupplement,
): Promise<Decisions> {
  let merged = decisions
  for (const { name, context } of contexts) {
    const added = await context.apply?.(transaction, merged, supplement)
    if (added !== undefined) merged = include(merged, added, name)
  }
  return merged
}

/**
 * Calls `afterTransaction` of every context.
 *
 * @throws the error of a context, after all have ended; an AggregateError if there are several
 */
export async function afterTransaction(contexts: readonly OpenContext<never>[], commit: TaskCommit): Promise<void> {
  const ended = await Promise.allSettled(contexts.map(async ({ context }) => context.afterTransaction?.(commit)))
  const errors = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
  if (errors.length > 1) throw new AggregateError(errors, `${errors.length} contexts failed after the transaction was committed`)
  if (errors.length === 1) throw errors[0]
}

function include(decisions: Decisions, added: Decisions, name: string): Decisions {
  if (!(added instanceof Map)) throw invalid(`context "${name}"`, added, 'must return a Map of tasks to decisions, or nothing')
  for (const task of added.keys()) {
    if (!decisions.has(task)) {
      const message = `Context "${name}" decided of ${taskToString(task)}, which it was not given`
      throw new TaskError('TASK_UNKNOWN', message, { task, context: name })
    }
  }
  const missing = TaskDecision.failure(`Context "${name}" returned no decision for this task`)
  return new Map([...decisions].map(([task, decision]) => [task, decision.merge(added.get(task) ?? missing)]))
}
