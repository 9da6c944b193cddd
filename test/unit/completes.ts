/** Completing what a batch has decided, over a database that answers as a test wants it to. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { Completing } from '../../packages/task-processor/src/batches/completing.ts'
import type { CompletingEnvironment } from '../../packages/task-processor/src/batches/completing.ts'
import type { BatchEvent } from '../../packages/task-processor/src/core/listener.ts'
import type { Answering } from './answering.ts'

export const success = TaskDecision.success()
/** A message that not every database can keep. */
export const sun = TaskDecision.success('日')
export const refused = new TaskError('ARGUMENT_INVALID', 'refused')
export const gone = new TaskError('DATABASE_UNAVAILABLE', 'gone')

export function decide(tasks: readonly HeldTask[], decision = success): Map<HeldTask, TaskDecision> {
  return new Map(tasks.map((task) => [task, decision]))
}

export function event(tasks: readonly HeldTask[]): BatchEvent {
  return { topic: 'mail', tasks, trace: 'traced' }
}

export function open(
  answers: Answering,
  tasks: readonly HeldTask[],
  plain = false,
  more: Partial<CompletingEnvironment<object>> = {},
): Completing<object> {
  return new Completing({ ...answers.environment, ...more }, { event: event(tasks) }, plain)
}

/** Throws these, one each time, and then no more. */
export function failing(answers: Answering, ...errors: unknown[]): void {
  answers.answer = () => {
    if (errors.length > 0) throw errors.shift()
  }
}

/** Throws whatever is asked of these. */
export function refusing(
  answers: Answering,
  bad: string,
  when: (asked: string, decisions: ReadonlyMap<HeldTask, TaskDecision>) => boolean = () => true,
): void {
  answers.answer = (verb, names, decisions) => {
    if ([...bad].some((one) => names.split(',').includes(one)) && when(verb, decisions)) throw refused
  }
}
