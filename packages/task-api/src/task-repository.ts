import type { Execution } from './execution.ts'
import type { TaskActivations } from './task-activation.ts'
import type { TaskAttempts } from './task-attempts.ts'
import type { TaskAudit } from './task-audit.ts'
import type { TaskCanceller } from './task-canceller.ts'
import type { TaskCatalog } from './task-catalog.ts'
import type { TaskDependencies } from './task-dependencies.ts'
import type { TaskDiagnosis } from './task-diagnosis.ts'
import type { TaskEndings } from './task-endings.ts'
import type { TaskInspection } from './task-inspection.ts'
import type { TaskJuncture } from './task-juncture.ts'
import type { TaskLocker } from './task-locker.ts'
import type { TaskNodes } from './task-nodes.ts'
import type { TaskOwners } from './task-owners.ts'
import type { TaskRescheduler } from './task-rescheduler.ts'
import type { TaskRestorer } from './task-restorer.ts'
import type { TaskReviver } from './task-reviver.ts'
import type { TopicOptions } from './task-polling.ts'
import type { TaskSink } from './task-sink.ts'
import type { TaskSource } from './task-source.ts'
import type { TopicLimiter } from './topic-limits.ts'

/**
 * Ordered topics of tasks in a database. Every verb takes the caller's own transaction as its first argument, and works inside it: the repository
 * never opens, commits or rolls back a transaction.
 *
 * @example
 * await transactions(async (tx) => {
 *   await tx.query('insert into invoice …')
 *   await tasks.push(tx, 'invoices', 'inv-1')   // committed or rolled back together with the invoice
 * })
 */
export interface TaskRepository<Transaction, E extends Execution = 'async'>
  extends
    TaskSink<Transaction, E>,
    TaskSource<Transaction, E>,
    TaskReviver<Transaction, E>,
    TaskLocker<Transaction, E>,
    TaskRestorer<Transaction, E>,
    TaskCanceller<Transaction, E>,
    TaskRescheduler<Transaction, E>,
    TaskEndings<Transaction, E>,
    TaskDependencies<Transaction, E>,
    TaskJuncture<Transaction, E>,
    TaskCatalog<Transaction, E>,
    TaskAttempts<Transaction, E>,
    TaskActivations<Transaction, E>,
    TopicLimiter<Transaction, E>,
    TaskOwners<Transaction, E>,
    TaskNodes<Transaction, E>,
    TaskAudit<Transaction, E>,
    TaskDiagnosis<Transaction, E>,
    TaskInspection<Transaction, E> {
  /** `'async'` if the verbs return promises, `'sync'` if they return values. */
  readonly execution: E
  /** What this repository's last poll of a topic has found out. Not a verb: it asks nobody. Undefined before the first poll. */
  found?(topic: string): PollFindings | undefined
}

/** What a poll has found out about its topic. */
export interface PollFindings {
  /**
   * How a topic with a condition is polled and completed by a single statement each, which need no transaction around them. The next poll is to ask for this
   * order and condition. Undefined if that takes several statements.
   */
  readonly single?: Required<Pick<TopicOptions, 'order' | 'condition'>> | undefined
  /** Whether the topic has a condition, and the poll has ended before it had looked at all tasks that may be free. The next one goes on. */
  readonly more: boolean
}
