import type { TaskError } from './task-error.ts'

/** What a notifier tells whoever listens. None of these may throw. */
export interface NotifierCallbacks {
  /** Tasks of the topic may be ready; without a topic, tasks of any may be. */
  onTasks(topic?: string): void
  /** It was said that the topic is, or is not, to be processed; without a topic, that may have been said of any. */
  onActivation?(topic?: string): void
  /** Nothing is heard until `onConnected`: told once each time that the connection is lost, as soon as that is known. */
  onDisconnected?(error: unknown): void
  /** It hears again. `onTasks` and `onActivation` follow without a topic, for what was missed. Not told of the first connection. */
  onConnected?(): void
  /** It will never hear anything, and calls nobody any more. Told at most once. */
  onGivenUp?(reason: TaskError): void
}

/** Hints that there may be work. Only ever a hint: a lost one costs latency, never a task. */
export interface TaskNotifier {
  /**
   * Resolves once it listens. A connection that is lost later is renewed by itself. Disposed of, it holds no connection and calls nobody.
   *
   * @throws what keeps it from listening at first: nothing is left open then
   */
  listen(callbacks: NotifierCallbacks): Promise<AsyncDisposable>
}
