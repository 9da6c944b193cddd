import type { FilterState, TaskEnding, TaskInfo } from '@taskstream/task-api'
import { idOf, jobNameOf, parsed, tagsOf, timeoutOf } from '@taskstream/task-jobs'
import type { JobTags } from '@taskstream/task-jobs'

/**
 * - `pending`: waits for its time or for a worker, and was not tried yet
 * - `running`: a worker has it
 * - `completed`: has returned
 * - `failed`: waits for its next retry, or has failed for good: then `isTerminal` is true
 */
export type TaskLibState = 'pending' | 'running' | 'completed' | 'failed'

/** A task as TaskLib shows it. Instants are by the database's clock. */
export interface TaskLibTask {
  /** A UUID of version 7. Another job of the queue that was pushed without an id has `@` and its sequence. */
  readonly id: string
  readonly name: string
  readonly state: TaskLibState
  readonly createdAt: Date
  /** When the task may start. Undefined once it was tried. */
  readonly scheduledAt: Date | undefined
  /** When the last try began. */
  readonly startedAt: Date | undefined
  /** When the task ended. Undefined while a retry is to come. */
  readonly completedAt: Date | undefined
  /** The arguments, with the defaults of the schema. Undefined if what is stored is no JSON. */
  readonly kwargs: unknown
  /** What the function has returned, as `{ value }`. */
  readonly result: { readonly value: unknown } | undefined
  /** The error of the last try: its class, message and stack. Undefined once the task has completed. */
  readonly error: string | undefined
  /** How many retries were begun or are planned: 0 at the first try. */
  readonly retryCount: number
  readonly maxRetries: number | undefined
  /** When the task is tried again. Undefined unless it waits for that time. */
  readonly nextRetryAt: Date | undefined
  /** The worker that has the task. */
  readonly workerId: string | undefined
  readonly timeoutSeconds: number | undefined
  readonly priority: number
  readonly tags: JobTags
  readonly isPending: boolean
  readonly isRunning: boolean
  readonly isCompleted: boolean
  readonly isFailed: boolean
  readonly hasResult: boolean
  readonly hasError: boolean
  /** Whether nothing more happens to the task: it has completed, or failed for good. */
  readonly isTerminal: boolean
}

/** The states in which a task of each state of TaskLib may be. Some are of two, as the tries decide. */
const candidates: Readonly<Record<TaskLibState, readonly FilterState[]>> = {
  pending: ['ready', 'delayed', 'blocked', 'suspended'],
  running: ['active', 'expired'],
  completed: ['succeeded', 'filtered'],
  failed: ['ready', 'delayed', 'failed', 'filtered'],
}

export const taskLibStates: readonly TaskLibState[] = ['pending', 'running', 'completed', 'failed']

export function candidatesOf(state: TaskLibState | undefined): readonly FilterState[] {
  return state ? candidates[state] : [...new Set(Object.values(candidates).flat())]
}

/** @returns undefined for a task that another one stands for */
export function stateOf({ state, tries, due, blocked, reason }: TaskInfo): TaskLibState | undefined {
  switch (state) {
    case 'ready':
      return tries === 0 ? 'pending' : 'failed'
    case 'suspended':
      return tries > 0 && due !== undefined && !blocked ? 'failed' : 'pending'
    case 'active':
    case 'expired':
      return 'running'
    case 'succeeded':
      return 'completed'
    case 'failed':
      return 'failed'
    case 'filtered':
      // A task that its function discards is done, and one that came too late or was cancelled is not.
      return reason === undefined ? 'completed' : 'failed'
    default:
      return undefined
  }
}

/** @returns undefined for a task that another one stands for */
export function rowOf(task: TaskInfo, ending: TaskEnding | undefined): TaskLibTask | undefined {
  const state = stateOf(task)
  if (!state) return undefined
  const { tries, maxTries, due, reason, output } = task
  const isTerminal = ['succeeded', 'failed', 'filtered'].includes(task.state)
  const isWaiting = state === 'failed' && !isTerminal
  const error = state === 'failed' ? (output ?? withoutWords(reason)) : undefined
  const result = resultOf(ending)
  const timeoutMs = timeoutOf(task)
  return {
    id: idOf(task),
    name: jobNameOf(task) ?? task.identifier,
    state,
    createdAt: task.created,
    scheduledAt: state === 'pending' ? (due ?? task.created) : undefined,
    startedAt: task.started,
    completedAt: isTerminal ? task.completed : undefined,
    kwargs: parsed(task.input),
    result,
    error,
    retryCount: isWaiting ? tries : Math.max(0, tries - 1),
    maxRetries: maxTries === undefined ? undefined : maxTries - 1,
    nextRetryAt: isWaiting ? due : undefined,
    workerId: state === 'running' ? task.owner : undefined,
    timeoutSeconds: timeoutMs === undefined ? undefined : timeoutMs / 1_000,
    priority: task.priority,
    tags: tagsOf(task),
    isPending: state === 'pending',
    isRunning: state === 'running',
    isCompleted: state === 'completed',
    isFailed: state === 'failed',
    hasResult: result !== undefined,
    hasError: error !== undefined,
    isTerminal,
  }
}

/** What is said of an end that no function has said anything of: its reason, such as a deadline. */
function withoutWords(reason: TaskInfo['reason']): string | undefined {
  return reason === 'tries' ? 'The worker that had the task has died, and no retries are left' : reason
}

/** The results of other jobs of the queue are shown as those of functions. */
function resultOf(ending: TaskEnding | undefined): TaskLibTask['result'] {
  if (ending?.value === undefined) return undefined
  const value = parsed(ending.value)
  const isOwn = typeof value === 'object' && value !== null && Object.keys(value).join() === 'value'
  return isOwn ? (value as { readonly value: unknown }) : { value }
}
