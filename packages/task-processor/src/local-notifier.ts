import type { TaskNotifier } from '@taskstream/task-api'

/** Wakes the nodes of this process: call `notify` after a push has committed. */
export interface LocalNotifier extends TaskNotifier {
  notify(topic?: string): void
}

/** For a push and its node in one process, where the database has no word for it. */
export function localNotifier(): LocalNotifier {
  const listeners = new Set<(topic?: string) => void>()
  return {
    notify: (topic) => {
      for (const wake of listeners) wake(topic)
    },
    listen: async (wake) => {
      listeners.add(wake)
      return { [Symbol.asyncDispose]: async () => void listeners.delete(wake) }
    },
  }
}
