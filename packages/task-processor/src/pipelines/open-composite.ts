import { invalid, TaskSupplement } from '@taskstream/task-api'
import type { OpenHandler } from '../core/task-handler.ts'
import type { CompositeOptions } from './composite.ts'
import { PendingBatch } from './pending-batch.ts'
import type { RunnableStep } from './step.ts'

/** Opens a handler that runs batches through steps. @throws TaskError ARGUMENT_INVALID without a step, or if `decorate` returns no function */
export function openComposite<Transaction>(
  options: CompositeOptions<Transaction>,
  steps: readonly RunnableStep[],
): OpenHandler<Transaction> {
  const { concurrency, pendingOnClose = 'handle', contexts = [], supplement = () => new TaskSupplement() } = options
  if (steps.length === 0) throw invalid('a composite', 'none', 'must have a step: add one with each() or batch()')
  const plan = { steps: steps.map((step) => decorated(step, options.decorate)), contexts, supplement }
  const pending = new Set<PendingBatch<Transaction>>()
  return {
    handle: async (tasks, context) => {
      const batch = new PendingBatch(plan, tasks, context)
      pending.add(batch)
      try {
        return await batch.outcome
      } finally {
        pending.delete(batch)
      }
    },
    ...(concurrency === undefined ? {} : { capacity: Math.max(1, concurrency) }),
    close: async () => {
      const closed = [...pending]
      for (const batch of closed) batch.close(pendingOnClose)
      await Promise.allSettled(closed.map(({ outcome }) => outcome))
    },
  }
}

function decorated({ run, ...step }: RunnableStep, decorate: CompositeOptions<never>['decorate']): RunnableStep {
  if (!decorate) return { ...step, run }
  const wrapped: unknown = decorate(step, run)
  if (typeof wrapped !== 'function') throw invalid(`decorate of step "${step.id}"`, wrapped, 'must return a function')
  return { ...step, run: wrapped as RunnableStep['run'] }
}
