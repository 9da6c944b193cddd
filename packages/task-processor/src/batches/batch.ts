import type { DiscardedState, Execution, HeldTask, StuckTask, TaskError, TaskRepository } from '@taskstream/task-api'
import type { Clock } from '../core/clock.ts'
import type { Dispatcher } from '../core/dispatcher.ts'
import type { HungHandlers } from '../core/hung-handlers.ts'
import type { BatchEvent, SafeListener } from '../core/listener.ts'
import type { RetryPolicy } from '../core/retry-policy.ts'
import type { SharedCommits } from './shared-commits.ts'
import type { SharedCompletions } from './shared-completions.ts'
import type { BatchHandler } from '../core/task-handler.ts'

/** The parts of a task manager that handling a batch needs. */
export interface BatchEnvironment<Transaction> {
  readonly topic: string
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly handler: BatchHandler<Transaction>
  readonly completions: SharedCompletions<Transaction>
  readonly commits: SharedCommits<Transaction>
  readonly retry: RetryPolicy | undefined
  readonly listener: SafeListener
  readonly clock: Clock
  readonly hung: HungHandlers
  /** Wakes the processor of another topic. */
  readonly wake: (topic: string) => void
  /** The states whose tasks are deleted in the transaction that ends them. Then a completion is several statements. */
  readonly discard?: readonly DiscardedState[] | undefined
  /** How long a handler may take. Undefined: without limit. */
  readonly timeoutMs: number | undefined
  readonly abortMs: number
}

/** A batch in either mode. It is handled once, completed at most once, and released in any case. */
export interface Batch {
  readonly tasks: readonly HeldTask[]
  /** Tasks that this batch has completed. */
  readonly finished: readonly HeldTask[]
  /** Tasks that were handed back. */
  readonly returned: readonly HeldTask[]
  /** Tasks that are still held, as the database refused to write anything about them. */
  readonly undecided: readonly HeldTask[]
  /** Whether the batch is held ahead, and its handler has not begun. */
  readonly isWaiting: boolean
  /** Whether the owner's lease holds the tasks. Otherwise the batch's transaction holds them while it is open. */
  readonly isLeased: boolean
  /** Tasks that the owner's lease holds, as far as is known. When the batch is given up, they count as undecided. */
  readonly leased: readonly HeldTask[]
  /** Attempts that the owner's lease holds, and of which the handler was asked to let go. It goes on with them. */
  readonly stuck: readonly StuckTask[]
  /** Whether tasks were handed back or left undecided because they could not be completed. If polled again at once, they would fail again. */
  readonly setback: boolean
  /** Resolves when the batch is released; never rejects. */
  readonly ended: Promise<void>
  /** Resolves when the handler's code has ended too, which may be later; never rejects. */
  readonly handled: Promise<void>
  /** The batch in events. `at` is the task at which its handler is. */
  readonly event: BatchEvent & { readonly at?: HeldTask }
  /** Asks the handler to let go. */
  abort(reason: TaskError): void
  /** Asks the handler to let go, as others have taken its tasks. Not if it has asked for its completion, which will tell it. */
  lose(reason: TaskError): void
  /** Hands back the tasks that are still held, whatever the handler does. */
  handBack(): Promise<void>
  /** Ends the attempts to reach the database, as the process is about to end. */
  giveUp(): void
}
