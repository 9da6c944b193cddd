import type { PromotedDue } from '@taskstream/task-api'
import type { BatchEnvironment } from '../batches/batch.ts'
import { unreachable } from './unreachable.ts'

/** Promotes the due tasks of a topic, and tells of those that would have waited for ever. */
export async function promoteDue<Transaction>(
  environment: Pick<BatchEnvironment<Transaction>, 'dispatcher' | 'listener' | 'repository' | 'topic'>,
): Promise<PromotedDue> {
  const { dispatcher, listener, repository, topic } = environment
  const promoted = await dispatcher.once<PromotedDue>((transaction) => repository.promoteDue(transaction, topic))
  // No handler has seen these tasks, so nobody else tells of their end.
  if (promoted.unreachable) listener.onError({ activity: 'promoteDue', topic, error: unreachable(topic, promoted.unreachable) })
  return promoted
}
