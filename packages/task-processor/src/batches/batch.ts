import type { Execution, HeldTask, TaskError, TaskRepository } from '@taskstream/task-api'
import type { Clock } from '../core/clock.ts'
import type { Dispatcher } from '../core/dispatcher.ts'
import type { BatchEvent, SafeListener } from '../core/listener.ts'
import type { RetryPolicy } from '../core/retry-policy.ts'
import type { SharedCompletions } from './shared-completions.ts'
import type { BatchHandler } from '../core/task-handler.ts'

/** What handling a batch needs of its manager. */
export interface BatchEnvironment<Transaction> {
  readonly topic: string
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly handler: BatchHandler<Transaction>
  readonly completions: SharedCompletions<Transaction>
  readonly retry: RetryPolicy | undefined
  readonly listener: SafeListener
  readonly clock: Clock
  /** Wakes the processor of another topic. */
  readonly wake: (topic: string) => void
  /** How long a handler may take, if that is bounded, and then to let go. */
  readonly timeoutMs: number | undefined
  readonly abortMs: number
}

/** A batch that is being handled, in whatever mode: handled once, completed once, and in any case let go of. */
export interface Batch {
  readonly tasks: readonly HeldTask[]
  /** Completed by this batch. */
  readonly finished: readonly HeldTask[]
  /** Handed back. */
  readonly returned: readonly HeldTask[]
  /** Neither, and not lost: nothing could be written of them, and they are held still. */
  readonly undecided: readonly HeldTask[]
  /** Whether its tasks are held by the owner's lease; otherwise by its transaction, as long as that is open. */
  readonly isLeased: boolean
  /** Held by the owner's lease, for all that is known: of a batch that is given up they are as good as undecided. */
  readonly leased: readonly HeldTask[]
  /** Whether something was handed back, or left undecided, because it could not be completed: polled again, it would come to the same. */
  readonly setback: boolean
  /** Resolves when the batch has been let go of; never rejects. */
  readonly ended: Promise<void>
  /** Resolves when the handler's code has ended too, which may be later; never rejects. */
  readonly handled: Promise<void>
  /** What is told of it while it is handled. */
  readonly event: BatchEvent & { readonly at?: HeldTask }
  /** Asks the handler to let go. */
  abort(reason: TaskError): void
  /** Lets go of what is held, whatever the handler does. */
  handBack(): Promise<void>
  /** Ends the attempts to reach the database: the process is about to end. */
  giveUp(): void
}
