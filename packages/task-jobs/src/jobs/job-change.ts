/** What becomes of jobs, for those who watch. */
import type { HeldTask, PushedTask, Task, TaskCreation, TaskDecision, TaskInfo, TaskReason } from '@taskstream/task-api'
import { stateOf } from './job-info.ts'
import type { JobState } from './job-info.ts'
import { jobNameOf } from '../definitions/job-name.ts'
import { idOf } from '../definitions/job-ref.ts'

/** A job in a new state. Whoever made the change may not know all of the job: what is not known is undefined. */
export interface JobChange extends Task {
  /** The name of the job. */
  readonly job: string
  /** The caller's own name for the job, or `@` and its sequence. */
  readonly id?: string | undefined
  /** Undefined if the row has to be read to know it. */
  readonly state: JobState | undefined
  readonly reason?: TaskReason | undefined
  readonly tries?: number | undefined
  readonly attempt?: number | undefined
  readonly error?: string | undefined
  /** Whether the job is new. A push is told of after its commit, when others may have handled the job already. */
  readonly isPush?: boolean
}

/** A watcher may keep thousands of messages. */
const errorLength = 1_000

/** @returns undefined if the push found a job that was there before */
export function pushedChange(
  job: string,
  pushed: PushedTask,
  creation: TaskCreation,
  needs: readonly unknown[],
): JobChange | undefined {
  const { topic, sequence, identifier, outcome } = pushed
  if (outcome === 'duplicate') return undefined
  const id = creation.externalId ?? `@${sequence}`
  const state = outcome === 'redundant' ? 'redundant' : needs.length > 0 ? 'blocked' : stateOfCreation(creation)
  return { topic, sequence, identifier, job, id, state, tries: 0, attempt: 0, isPush: true }
}

function stateOfCreation({ suspended, due, delayMs = 0 }: TaskCreation): JobState {
  if (suspended) return 'suspended'
  return delayMs > 0 || (due !== undefined && due.getTime() > Date.now()) ? 'delayed' : 'ready'
}

/** The later of two changes of a job, with what only the earlier one knows of it. */
export function mergedChange(before: JobChange, change: JobChange): JobChange {
  const { id = before.id, tries = before.tries, attempt = before.attempt } = change
  return { ...change, id, tries, attempt }
}

/** A job that was cancelled. @param named as which it was cancelled, if it was alone */
export function cancelledChange(job: string, { topic, sequence, identifier }: Task, named: string | undefined): JobChange {
  // A job has its sequence beside the id of its caller.
  const id = named?.startsWith('@') ? undefined : named
  return { topic, sequence, identifier, job, id, state: 'filtered', reason: 'cancelled' }
}

/** A job that is tried again by hand. */
export function retriedChange(job: string, task: TaskInfo): JobChange {
  const { topic, sequence, identifier, attempt } = task
  return { topic, sequence, identifier, job, id: idOf(task), state: 'ready', tries: 0, attempt }
}

/** A job of which only its row says what has become of it. */
export function unreadChange(job: string, { topic, sequence, identifier }: Task): JobChange {
  return { topic, sequence, identifier, job, state: undefined }
}

/** A job that an owner has taken. */
export function takenChange(task: HeldTask): JobChange {
  return { ...heldOf(task), state: 'active' }
}

/** A job that was handed back, and keeps its try. */
export function returnedChange(task: HeldTask): JobChange {
  return { ...heldOf(task), state: 'ready', tries: task.tries - 1 }
}

/** A job that its owner does not hold any more. */
export function lostChange(task: HeldTask): JobChange {
  return { ...heldOf(task), state: undefined }
}

/** A job that was completed as its handler decided. */
export function completedChange(task: HeldTask, decision: TaskDecision): JobChange {
  const { result, retryAfterMs, refunded, reason } = decision
  const tries = refunded ? task.tries - 1 : task.tries
  const error = result === 'success' ? undefined : shortened(decision.toMessage())
  const change = { ...heldOf(task), tries, error }
  if (retryAfterMs === undefined) return { ...change, state: decision.state, reason }
  // The database fails a task that has no tries left.
  if (!refunded && task.maxTries !== undefined && task.tries >= task.maxTries)
    return { ...change, state: 'failed', reason: 'tries' }
  return { ...change, state: tries === 0 ? 'delayed' : 'retrying', reason }
}

/** A job as its row says. */
export function foundChange(task: TaskInfo): JobChange {
  const { topic, sequence, identifier, reason, tries, attempt, output } = task
  const state = stateOf(task)
  // What has succeeded has a message too, and a try under way has that of the one before.
  const error = withError.has(state) ? shortened(output) : undefined
  return { topic, sequence, identifier, job: jobNameOf(task) ?? topic, id: idOf(task), state, reason, tries, attempt, error }
}

const withError: ReadonlySet<JobState> = new Set(['failed', 'filtered', 'retrying', 'delayed', 'suspended'])

function heldOf(task: HeldTask): Omit<JobChange, 'state'> {
  const { topic, sequence, identifier, tries, attempt } = task
  return { topic, sequence, identifier, job: jobNameOf(task) ?? topic, id: idOf(task), tries, attempt }
}

function shortened(message: string | undefined): string | undefined {
  return message?.slice(0, errorLength)
}
