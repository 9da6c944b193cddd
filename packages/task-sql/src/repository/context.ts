import { TaskError } from '@taskstream/task-api'
import type { Dialect } from '../dialect.ts'
import type { Polling } from './polling.ts'

/** What every verb of one repository shares. */
export interface Context {
  readonly dialect: Dialect
  /** Name and incarnation. */
  readonly owner: string
  readonly ownerName: string
  /** Epoch milliseconds of a test clock, or null for the database's own. */
  readonly now: () => number | null
  /** What polls have learned of topics; each claim checks that it is still so. */
  readonly pollings: Map<string, Polling>
}

export function topicUnknown(topic: string): TaskError {
  return new TaskError('TOPIC_UNKNOWN', `Topic "${topic}" was never initialised: call initialize(transaction, "${topic}") once`, {
    topic,
  })
}

export function topicNotKeyed(topic: string, verb: string): TaskError {
  return new TaskError(
    'TOPIC_NOT_KEYED',
    `Topic "${topic}" keeps no index of identifiers, which ${verb} needs: initialize it with { keyed: true }`,
    { topic },
  )
}

export function ownerUnknown(owner: string): TaskError {
  return new TaskError(
    'OWNER_UNKNOWN',
    `Owner "${owner}" is not registered, or was removed as dead: call register(transaction)`,
    { owner },
  )
}
