import type { TaskInfo } from '@taskstream/task-api'

/** The states of tasks by their names on the wire. The empty one is that of a task which cannot be read. */
export const taskStates = [
  '',
  'new',
  'active',
  'retry',
  'expired',
  'terminated',
  'complete',
  'queue_error',
  'blocked',
  'unreachable',
] as const

export type TaskState = (typeof taskStates)[number]

/** Reads the name of a state. `completed` stands for `complete`. @returns undefined if there is no such state */
export function taskStateOf(name: string): TaskState | undefined {
  return name === 'completed' ? 'complete' : taskStates.find((state) => state === name)
}

/** What became of a task that was filtered. One that had to make room for others has lost its place in the queue. */
const endedOf: Readonly<Record<string, TaskState>> = { deadline: 'expired', cancelled: 'terminated', dropped: 'queue_error' }

/** The state of a stored task, in the words of asyncjobs. */
export function stateOf({ state, reason, blocked, due, tries, attempt, started }: TaskInfo): TaskState {
  switch (state) {
    case 'active':
    case 'expired':
      return 'active'
    case 'succeeded':
      return 'complete'
    case 'failed':
      return reason === 'tries' ? 'expired' : reason === 'unreachable' ? 'unreachable' : 'terminated'
    case 'filtered':
      return endedOf[reason ?? 'none'] ?? 'complete'
    case 'suspended':
      // Without a time for which it waits, somebody has set it aside.
      if (blocked || due === undefined) return 'blocked'
      break
    default:
  }
  // A task that somebody has had tried again was taken before, and has neither tries nor times.
  return tries > 0 || (attempt > 0 && started === undefined) ? 'retry' : 'new'
}
