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
      for (const listener of listeners) listener(topic)
    },
    listen: async ({ onTasks }) => {
      // One of its own, as the same function may listen twice.
      const listener = (topic?: string): void => onTasks(topic)
      listeners.add(listener)
      return { [Symbol.asyncDispose]: async () => void listeners.delete(listener) }
    },
  }
}
