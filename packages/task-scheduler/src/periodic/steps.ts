/** Several calls in one transaction, written once for drivers that answer at once and for those that answer later. */
import type { Execution, Outcome, TaskSink, TimedTaskRepository, TimerRepository } from '@taskstream/task-api'

/** Yields what calls return, and is given their answers. */
export type Steps<Result> = Generator<unknown, Result, unknown>

/** What steps are taken with: the caller's transaction, and what keeps timers and tasks in it. */
export interface Work {
  readonly transaction: unknown
  readonly timers: TimerRepository<unknown, Execution>
  readonly tasks: TaskSink<unknown, Execution>
}

/** The answer to a call. */
export function* answer<Answer>(outcome: Answer | Promise<Answer>): Steps<Answer> {
  return (yield outcome) as Answer
}

/** Makes of steps what users call: it returns as the repository does. */
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
