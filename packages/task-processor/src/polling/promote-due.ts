import type { PromotedDue } from '@taskstream/task-api'
import type { BatchEnvironment } from '../batches/batch.ts'
import { pauseMs } from '../core/retry-policy.ts'
import { unreachable } from './unreachable.ts'

/** Promotes the due tasks of a topic, and tells of those that would have waited for ever. */
export class Promotion<Transaction> {
  readonly #environment: Pick<BatchEnvironment<Transaction>, 'dispatcher' | 'listener' | 'repository' | 'topic'>
  /** How many times in a row due tasks were there and none could be promoted. */
  #vain = 0

  constructor(environment: Pick<BatchEnvironment<Transaction>, 'dispatcher' | 'listener' | 'repository' | 'topic'>) {
    this.#environment = environment
  }

  /** What is due and could not be promoted stands in an open transaction of somebody else. Nobody tells when that ends, so the looks get rarer. */
  async promote(): Promise<PromotedDue> {
    const { dispatcher, listener, repository, topic } = this.#environment
    const promoted = await dispatcher.once<PromotedDue>((transaction) => repository.promoteDue(transaction, topic))
    // No handler has seen these tasks, so nobody else tells of their end.
    if (promoted.unreachable) listener.onError({ activity: 'promoteDue', topic, error: unreachable(topic, promoted.unreachable) })
    this.#vain = promoted.promoted === 0 && promoted.nextDueMs === 0 ? this.#vain + 1 : 0
    return this.#vain === 0 ? promoted : { ...promoted, nextDueMs: pauseMs(this.#vain, 20, 2, 1_000, 0.25) }
  }
}
