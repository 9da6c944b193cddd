import { checkInteger } from '@taskstream/task-api'

/** Limits how many batches are under way at a time. Topics of one node, or of several, may share a limiter. */
export interface TaskLimiter {
  /**
   * Waits for a slot.
   *
   * @returns a function that gives the slot back. A second call does nothing
   * @throws the signal's reason if the signal is aborted first, in which case no slot is taken
   */
  acquire(topic: string, signal: AbortSignal): Promise<() => void>
}

/** A limiter without a limit. */
export const unlimited: TaskLimiter = { acquire: async () => () => {} }

/**
 * Limits the batches under way at a time. Topics that wait get slots in the order in which they came.
 *
 * @param slots the most batches at a time, 1 to 10 000
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * new TaskNode({ repository, transactions, limiter: bound(4) })
 */
export function bound(slots: number): TaskLimiter {
  // mutants: equivalent number, any equal priorities give the same order
  return prioritizing(slots, () => 0)
}

/**
 * Limits the batches under way at a time, by priority. Of the topics that wait, the one with the highest priority gets the next slot; among equals, the
 * first that came. A topic of low priority waits as long as others wait.
 *
 * @param slots the most batches at a time, 1 to 10 000
 * @param priorityOf gives a topic's priority; called once whenever a topic has to wait. `acquire` throws its errors
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const limiter = prioritizing(4, (topic) => (topic === 'payments' ? 1 : 0))
 */
export function prioritizing(slots: number, priorityOf: (topic: string) => number): TaskLimiter {
  checkInteger('slots', slots, 1, 10_000)
  /** Sorted by priority, highest first, and then by arrival. */
  const waiting: Waiter[] = []
  let free = slots

  const give = (): (() => void) => {
    let given = true
    return () => {
      if (!given) return
      given = false
      // The slot is passed on directly, so that no newcomer takes it.
      const next = waiting.shift()
      if (next) next.serve(give())
      else free++
    }
  }
  return {
    acquire: async (topic, signal) => {
      signal.throwIfAborted()
      if (free > 0) {
        free--
        return give()
      }
      return wait(waiting, priorityOf(topic), signal)
    },
  }
}

interface Waiter {
  readonly priority: number
  readonly serve: (release: () => void) => void
}

/** Waits in line until a slot is free, or leaves the line when the signal is aborted. */
function wait(waiting: Waiter[], priority: number, signal: AbortSignal): Promise<() => void> {
  const { promise, resolve, reject } = Promise.withResolvers<() => void>()
  const leave = (): void => {
    waiting.splice(waiting.indexOf(waiter), 1)
    reject(signal.reason as Error)
  }
  const waiter: Waiter = {
    priority,
    serve: (release) => {
      // The waiter has its slot now, so a later abort has nothing to leave.
      signal.removeEventListener('abort', leave)
      resolve(release)
    },
  }
  const behind = waiting.findIndex((other) => other.priority < priority)
  waiting.splice(behind < 0 ? waiting.length : behind, 0, waiter)
  signal.addEventListener('abort', leave)
  return promise
}
