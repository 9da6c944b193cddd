import { isTaskError } from '@taskstream/task-api'
import type { HeldTask, TaskDecision } from '@taskstream/task-api'
import { otherError } from './conventions.ts'

/** The code of a TaskError, or else the class of an error. Never its message, of which there may be any number. */
export function errorTypeOf(error: unknown): string {
  if (isTaskError(error)) return error.code
  if (!(error instanceof Error)) return otherError
  const { name } = error
  return typeof name === 'string' && /^[A-Za-z_$][\w$.]{0,99}$/.test(name) ? name : otherError
}

/** What has become of a task by a decision, as the database has it: a retry after the last try is a failure. */
export function outcomeOf({ tries, maxTries = Infinity }: Pick<HeldTask, 'tries' | 'maxTries'>, decision: TaskDecision): string {
  const { outcome } = decision
  return outcome === 'retry' && tries >= maxTries ? 'failure' : outcome
}

/** The first error of a decision's explanations. */
export function errorOf({ explanations }: TaskDecision): Error | undefined {
  return explanations.find((explanation) => explanation instanceof Error)
}

/** The type of the error by which a decision fails its task. */
export function failureType(decision: TaskDecision): string {
  return decision.reason === 'timeout' ? 'TASK_TIMEOUT' : errorTypeOf(errorOf(decision))
}

/** The type of the error of a handler that has failed as a whole: it has thrown, or has failed each of its tasks. Undefined if it has not. */
export function failureOf(call: {
  readonly result?: ReadonlyMap<HeldTask, TaskDecision> | void
  readonly error?: unknown
}): string | undefined {
  if ('error' in call) return errorTypeOf(call.error)
  let type: string | undefined
  for (const [task, decision] of call.result ?? []) {
    if (outcomeOf(task, decision) !== 'failure') return undefined
    type ??= failureType(decision)
  }
  return type
}
