import type { HeldTask, TaskLease } from '@taskstream/task-api'

/**
 * How a task is held. `active`: its row is active. `staged`: the same in a topic with a condition, where its completion may free
 * another task. `locked`: its row is only locked, by the transaction that polled it. `ranged`: its row is ready, and a range holds it.
 */
const ways = ['active', 'staged', 'locked', 'ranged'] as const

export type Way = (typeof ways)[number]

/** The factor of the attempt in a lease: how many ways there are. */
const step = 4

/**
 * A lease is the attempt and the way in one whole number, which takes no memory of its own and survives JSON. Only this file knows
 * how the number is made.
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

/** Whether the task is held in this way. */
export function isHeld({ lease }: Pick<HeldTask, 'lease'>, way: Way): boolean {
  return ways[numberOf(lease) % step] === way
}

function numberOf(lease: TaskLease): number {
  return lease as unknown as number
}
