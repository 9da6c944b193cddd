import type { HeldTask, TaskError } from '@taskstream/task-api'
import type { BatchEnvironment } from './batch.ts'
import type { Clock } from '../core/clock.ts'
import { failed } from './decisions.ts'
import type { BatchEvent } from '../core/listener.ts'
import type { HandlerContext } from '../core/task-handler.ts'

/** The call of a handler, of which its context asks and tells. */
export interface Asked {
  readonly event: BatchEvent
  readonly signal: AbortSignal
  readonly aborted: TaskError | undefined
  readonly isHung: boolean
  reach(task: HeldTask): void
  stuck(task: HeldTask, heldMs: number, handled?: PromiseLike<unknown>, ofBatch?: number): void
}

/** What a handler is given. An object literal with getters would make two functions and a shape of its own for each batch, which takes longer than all else. */
export class GivenContext<Transaction> implements HandlerContext<Transaction> {
  readonly topic: string
  readonly clock: Clock
  declare readonly signal: AbortSignal
  declare readonly aborted: TaskError | undefined
  declare readonly isHung: boolean
  readonly complete: HandlerContext<Transaction>['complete']
  readonly failed: HandlerContext<Transaction>['failed']
  readonly at: HandlerContext<Transaction>['at']
  readonly stuck: HandlerContext<Transaction>['stuck']
  readonly report: HandlerContext<Transaction>['report']
  readonly wake: (topic: string) => void
  readonly #handling: Asked

  constructor(
    handling: Asked,
    { topic, clock, retry, wake, listener }: BatchEnvironment<Transaction>,
    complete: HandlerContext<Transaction>['complete'],
  ) {
    this.#handling = handling
    this.topic = topic
    this.clock = clock
    Object.defineProperty(this, 'signal', GivenContext.#signal)
    Object.defineProperty(this, 'aborted', GivenContext.#aborted)
    Object.defineProperty(this, 'isHung', GivenContext.#isHung)
    this.complete = complete
    this.failed = (task, error) => failed(task, error, retry)
    this.at = (task) => handling.reach(task)
    this.stuck = (task, heldMs, handled, ofBatch) => handling.stuck(task, heldMs, handled, ofBatch)
    this.report = (error, decisions) =>
      listener.onError({ ...handling.event, tasks: [...decisions.keys()], activity: 'handle', error, decisions })
    this.wake = wake
  }

  /** Own properties, so that a handler may spread its context. */
  static readonly #signal: PropertyDescriptor & ThisType<GivenContext<unknown>> = {
    enumerable: true,
    get() {
      return this.#handling.signal
    },
  }

  static readonly #isHung: PropertyDescriptor & ThisType<GivenContext<unknown>> = {
    enumerable: true,
    get() {
      return this.#handling.isHung
    },
  }

  static readonly #aborted: PropertyDescriptor & ThisType<GivenContext<unknown>> = {
    enumerable: true,
    get() {
      return this.#handling.aborted
    },
  }
}
