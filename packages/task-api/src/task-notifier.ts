import type { TaskError } from './task-error.ts'

/** The calls that a notifier makes to its listener. None of them may throw. */
export interface NotifierCallbacks {
  /** Tasks of the topic may be ready. Without a topic, tasks of any topic may be. */
  onTasks(topic?: string): void
  /** The topic may have been activated or deactivated. Without a topic, any topic may have been. */
  onActivation?(topic?: string): void
  /** The connection is lost, and no hints arrive until `onConnected`. Called once for each loss, as soon as the notifier knows. */
  onDisconnected?(error: unknown): void
  /** The connection is there again. `onTasks` and `onActivation` follow without a topic, for missed hints. Not called for the first connection. */
  onConnected?(): void
  /** The notifier has given up, and calls nothing any more. Called at most once. */
  onGivenUp?(reason: TaskError): void
}

/** Passes on hints that there may be work. A lost hint costs latency, never a task. */
export interface TaskNotifier {
  /**
   * Begins to listen, and resolves once the notifier listens. It renews a lost connection by itself.
   *
   * @returns a handle; once the handle is disposed of, the notifier holds no connection and calls nothing
   * @throws the error that keeps the notifier from listening at first; no connection is left open then
   */
  listen(callbacks: NotifierCallbacks): Promise<AsyncDisposable>
}
