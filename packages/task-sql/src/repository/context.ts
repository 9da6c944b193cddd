import { TaskError } from '@taskstream/task-api'
import type { Dialect } from '../dialect.ts'

/** What every verb of one repository shares. */
export interface Context {
  readonly dialect: Dialect
  /** Name and incarnation. */
  readonly owner: string
  readonly ownerName: string
  /** Epoch milliseconds of a test clock, or null for the database's own. */
  readonly now: () => number | null
}

export function topicUnknown(topic: string): TaskError {
  return new TaskError('TOPIC_UNKNOWN', `Topic "${topic}" was never initialised: call initialize(transaction, "${topic}") once`, {
    topic,
  })
}

export function ownerUnknown(owner: string): TaskError {
  return new TaskError(
    'OWNER_UNKNOWN',
    `Owner "${owner}" is not registered, or was removed as dead: call register(transaction)`,
    { owner },
  )
}
