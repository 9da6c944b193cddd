import type { HeldTask, TaskLease } from '@taskstream/task-api'

/**
 * How a task is held: made active; the same under a condition, where its completion may free another; or only locked by the transaction that
 * polled it.
 */
const ways = ['active', 'staged', 'locked'] as const

export type Way = (typeof ways)[number]

/** Room for more ways beside each attempt. */
const step = 4

/**
 * A lease is the attempt and the way, as one whole number: it costs nothing, however many tasks a worker holds, and outlives JSON. Only this
 * file knows.
 */
export function toLease(attempt: number, way: Way): TaskLease {
  return (attempt * step + ways.indexOf(way)) as unknown as TaskLease
}

export function isLease(value: unknown): value is TaskLease {
  return Number.isSafeInteger(value) && (value as number) >= 0 && ways[(value as number) % step] !== undefined
}

export function attemptOf({ lease }: Pick<HeldTask, 'lease'>): number {
  return Math.floor(numberOf(lease) / step)
}

/** Whether it is held in this way. */
export function isHeld({ lease }: Pick<HeldTask, 'lease'>, way: Way): boolean {
  return ways[numberOf(lease) % step] === way
}

function numberOf(lease: TaskLease): number {
  return lease as unknown as number
}
