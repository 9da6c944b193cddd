import { checkInteger } from '@taskstream/task-api'

/** How many batches may be under way at a time: shared by the topics of a node, or of several. */
export interface TaskLimiter {
  /**
   * Waits for a slot.
   *
   * @returns gives the slot back; called twice, it does so once
   * @throws the signal's reason, when it is aborted before: no slot is taken then
   */
  acquire(topic: string, signal: AbortSignal): Promise<() => void>
}

/** No limit. */
export const unlimited: TaskLimiter = { acquire: async () => () => {} }

/**
 * So many batches at a time, 1 to 10 000; who waits is served in order.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * new TaskNode({ repository, transactions, limiter: bound(4) })
 */
export function bound(slots: number): TaskLimiter {
  // mutants: equivalent number, one is as good as another
  return prioritizing(slots, () => 0)
}

/**
 * So many batches at a time, 1 to 10 000; of those who wait the topic of the highest priority is served first, and within a priority
 * the first. Topics of low priority wait for as long as there are others.
 *
 * @param priorityOf asked once for each time that a topic has to wait; higher is sooner. What it throws, `acquire` throws
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const limiter = prioritizing(4, (topic) => (topic === 'payments' ? 1 : 0))
 */
export function prioritizing(slots: number, priorityOf: (topic: string) => number): TaskLimiter {
  checkInteger('slots', slots, 1, 10_000)
  /** Highest priority first, and in order of arrival. */
  const waiting: Waiter[] = []
  let free = slots

  const give = (): (() => void) => {
    let given = true
    return () => {
      if (!given) return
      given = false
      // Handed on directly: nobody who comes in between can take it.
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

/** Stands in line until it is served or the signal is aborted; then it is in nobody's way any more. */
function wait(waiting: Waiter[], priority: number, signal: AbortSignal): Promise<() => void> {
  const { promise, resolve, reject } = Promise.withResolvers<() => void>()
  const leave = (): void => {
    waiting.splice(waiting.indexOf(waiter), 1)
    reject(signal.reason as Error)
  }
  const waiter: Waiter = {
    priority,
    serve: (release) => {
      // From now on it has a slot, and gives it back as everybody does.
      signal.removeEventListener('abort', leave)
      resolve(release)
    },
  }
  const behind = waiting.findIndex((other) => other.priority < priority)
  waiting.splice(behind < 0 ? waiting.length : behind, 0, waiter)
  signal.addEventListener('abort', leave)
  return promise
}
