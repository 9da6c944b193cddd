/** Batches that are held by the lease, over a database that answers as a test wants it to. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { BatchEnvironment } from '../../packages/task-processor/src/batches/batch.ts'
import { LeasedBatch } from '../../packages/task-processor/src/batches/leased-batch.ts'
import type { BatchHandler } from '../../packages/task-processor/src/core/task-handler.ts'
import { answering, tasksOf, soon } from './answering.ts'
import type { Answering } from './answering.ts'
import { ringingClock } from './ringing-clock.ts'
import type { RingingClock } from './ringing-clock.ts'

export const success = TaskDecision.success()
export const refused = new TaskError('ARGUMENT_INVALID', 'refused')
export const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')
export const succeed = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> => new Map(tasks.map((task) => [task, success]))
/** Everything that goes on by itself has gone on. */
export const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}
export const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'done',
    (error: TaskError) => error.code,
  )

export interface Made {
  readonly batch: LeasedBatch<object>
  readonly tasks: readonly HeldTask[]
  readonly answers: Answering
  readonly clock: RingingClock
  /** The names of what was told. */
  events(): string[]
  /** What was decided of the tasks in the last completion. */
  decided(): unknown[]
}

export interface Given extends Partial<Pick<BatchEnvironment<object>, 'timeoutMs' | 'retry'>> {
  readonly answer?: Answering['answer']
  readonly plain?: boolean
  readonly heard?: readonly string[]
  /** The names of its tasks. */
  readonly names?: string
}

export function make(
  handler: BatchHandler<object>,
  { answer, plain = false, heard = [], names = 'ab', ...more }: Given = {},
): Made {
  const answers = answering(...heard)
  if (answer) answers.answer = answer
  const clock = ringingClock()
  const tasks = tasksOf(names)
  const batch = new LeasedBatch(answers.handledBy(handler, { clock, ...more }), tasks, plain)
  return {
    batch,
    tasks,
    answers,
    clock,
    events: () => answers.told.map(([name]) => name),
    decided: () => {
      const last = answers.told.findLast(([name]) => name === 'onComplete')?.[1]['decisions'] as Map<HeldTask, TaskDecision>
      return [...last.values()]
    },
  }
}

export async function ended(handler: BatchHandler<object>, given?: Given): Promise<Made> {
  const made = make(handler, given)
  await soon(made.batch.begin())
  await soon(made.batch.ended)
  await soon(made.batch.handled)
  return made
}
