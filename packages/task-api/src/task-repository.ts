import type { Execution } from './execution.ts'
import type { TaskActivations } from './task-activation.ts'
import type { TaskCatalog } from './task-catalog.ts'
import type { TaskJuncture } from './task-juncture.ts'
import type { TaskOwners } from './task-owners.ts'
import type { TaskReviver } from './task-reviver.ts'
import type { TaskSink } from './task-sink.ts'
import type { TaskSource } from './task-source.ts'

/**
 * Ordered topics of tasks in a database. Every verb takes the caller's own transaction first and is part of it; the repository
 * opens, commits and rolls back nothing.
 */
export interface TaskRepository<Transaction, E extends Execution = 'async'>
  extends
    TaskSink<Transaction, E>,
    TaskSource<Transaction, E>,
    TaskReviver<Transaction, E>,
    TaskJuncture<Transaction, E>,
    TaskCatalog<Transaction, E>,
    TaskActivations<Transaction, E>,
    TaskOwners<Transaction, E> {
  /** Whether verbs return promises or values. */
  readonly execution: E
}
