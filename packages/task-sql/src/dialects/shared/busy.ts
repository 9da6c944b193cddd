import { TaskError } from '@taskstream/task-api'
import type { Shortage } from '@taskstream/task-api'

const words: Readonly<Record<Shortage, string>> = {
  connections: 'No connection is free',
  memory: 'The database is short of memory',
  disk: 'The database is short of room on its disk',
  resources: 'The database is short of a resource of its machine',
  lock: 'A lock that somebody else holds was not given in time',
  time: 'The statement was cancelled, or took longer than it may',
}

/** The error DATABASE_BUSY, which has the same words for every database. */
export function busy(shortOf: Shortage, cause: Error, data: Readonly<Record<string, unknown>> = {}): TaskError {
  return new TaskError(
    'DATABASE_BUSY',
    `${words[shortOf]}: roll back and run the whole transaction again, a little later (${cause.message})`,
    { shortOf, ...data },
    { cause },
  )
}
