import type { Execution, TransactionSource } from '@taskstream/task-api'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { Finding } from '../core/finding.ts'
import { thresholds } from '../core/thresholds.ts'
import type { CheckName } from '../core/thresholds.ts'
import { filesOfThisMachine } from './files.ts'
import { lookAround } from './look-around.ts'
import { readingOf } from './reading.ts'

/** Checks of the database itself that each read a row or two. */
export const checksOfDatabase: ReadonlySet<CheckName> = new Set<CheckName>([
  'read-only',
  'transaction-open',
  'lock-waits',
  'connections',
  'fsync',
  'storage-engine',
  'cluster-state',
  'journal',
  'synchronous',
  'wal-size',
  'free-space',
])

const only: ReadonlySet<CheckName> = new Set<CheckName>([...checksOfDatabase, 'overdue', 'timer-overdue', 'release-skew'])

/** How long a check may take in a glance, in milliseconds. It takes a few, but a server that is in trouble answers late, and then a glance is needed most. */
const limitMs = 1_000

/** The cheap checks of the doctor. @throws TaskError DATABASE_UNAVAILABLE */
export function glance<Transaction>(
  tasks: SqlTaskRepository<Transaction, Execution>,
  transactions: TransactionSource<Transaction>,
): Promise<readonly Finding[]> {
  return lookAround({
    tasks,
    transactions,
    notifier: undefined,
    read: readingOf(tasks, transactions),
    deep: false,
    leaseMs: 30_000,
    limitMs,
    wakeUpMs: 0,
    thresholds,
    files: filesOfThisMachine,
    only,
  })
}
