import type { HeldTask, TaskLease } from '@taskstream/task-api'

type Leased = Pick<HeldTask, 'lease'>

/**
 * What proves that a task is held: the attempt, as a number, because a worker holds many. Negative where completing the task may be another's
 * turn; with a half where the transaction that polled it has locked it, and made nothing active.
 */
export function toLease(attempt: number, how: 'active' | 'staged' | 'locked'): TaskLease {
  return (how === 'staged' ? -attempt : how === 'locked' ? attempt + 0.5 : attempt) as TaskLease
}

export function attemptOf({ lease }: Leased): number {
  return Math.floor(Math.abs(lease))
}

export function isStaged({ lease }: Leased): boolean {
  return lease < 0
}

export function isLocked({ lease }: Leased): boolean {
  return !Number.isInteger(lease)
}
