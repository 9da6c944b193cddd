import type { TaskNotifier } from '@taskstream/task-api'

/** Wakes the nodes of this process: call `notify` after a push has committed. */
export interface LocalNotifier extends TaskNotifier {
  notify(topic?: string): void
}

/** Makes a notifier within one process, for a database that cannot notify. */
export function localNotifier(): LocalNotifier {
  const listeners = new Set<(topic?: string) => void>()
  return {
    notify: (topic) => {
      for (const listener of listeners) listener(topic)
    },
    listen: async ({ onTasks }) => {
      // A new function each time, as the same `onTasks` may listen twice.
      const listener = (topic?: string): void => onTasks(topic)
      listeners.add(listener)
      return { [Symbol.asyncDispose]: async () => void listeners.delete(listener) }
    },
  }
}
