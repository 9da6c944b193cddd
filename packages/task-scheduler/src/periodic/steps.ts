/** Several calls in one transaction, written once for synchronous and asynchronous drivers. */
import type { Execution, Outcome, TaskSink, TimedTaskRepository, TimerRepository } from '@taskstream/task-api'

/** A generator that yields the outcomes of calls and receives the answers. An outcome is an answer or a promise of one. */
export type Steps<Result> = Generator<unknown, Result, unknown>

/** The caller's transaction, and the repositories of timers and tasks for it. */
export interface Work {
  readonly transaction: unknown
  readonly timers: TimerRepository<unknown, Execution>
  readonly tasks: TaskSink<unknown, Execution>
}

/** Yields the outcome of a call and returns the answer. */
export function* answer<Answer>(outcome: Answer | Promise<Answer>): Steps<Answer> {
  return (yield outcome) as Answer
}

/** Makes a function of steps that returns as the repository does: the result if the repository is synchronous, and otherwise a promise. */
export function bindSteps<Transaction, E extends Execution, Arguments extends readonly unknown[], Result>(
  repository: TimedTaskRepository<Transaction, E>,
  steps: (work: Work, ...args: Arguments) => Steps<Result>,
): (transaction: Transaction, ...args: Arguments) => Outcome<E, Result> {
  const run = repository.execution === 'sync' ? runSync : runAsync
  const { timers } = repository
  return (transaction, ...args) =>
    run(steps({ transaction, timers, tasks: repository } as unknown as Work, ...args)) as Outcome<E, Result>
}

function runSync<Result>(steps: Steps<Result>): Result {
  let step = steps.next()
  while (!step.done) step = steps.next(step.value)
  return step.value
}

async function runAsync<Result>(steps: Steps<Result>): Promise<Result> {
  let step = steps.next()
  while (!step.done) step = steps.next(await step.value)
  return step.value
}
