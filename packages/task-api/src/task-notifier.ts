import type { TaskError } from './task-error.ts'

/** Hints that there may be work. Only ever a hint: a lost one costs latency, never a task. */
export interface TaskNotifier {
  /**
   * Calls `wake` with a topic when tasks of it may be ready, and without one when any topic may have some (after a reconnect, say).
   * Resolves once it listens; a connection lost later is renewed by itself, and `wake()` is called then. Calls `onGivenUp` at most
   * once, when it finds that it will never hear anything; it does not call `wake` any more then. Calls `onActivation`, in the same way as
   * `wake`, when it was said that a topic is, or is not, to be processed.
   */
  listen(
    wake: (topic?: string) => void,
    onGivenUp?: (reason: TaskError) => void,
    onActivation?: (topic?: string) => void,
  ): Promise<AsyncDisposable>
}
