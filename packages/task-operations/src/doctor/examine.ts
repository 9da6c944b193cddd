import { checkDuration, checkNames, isTaskError, optionNames } from '@taskstream/task-api'
import type { Execution, TaskNotifier, TransactionSource } from '@taskstream/task-api'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { Finding } from '../core/finding.ts'
import { checkNames as names, thresholds as defaults } from '../core/thresholds.ts'
import type { Threshold, Thresholds } from '../core/thresholds.ts'
import { checks } from './checks.ts'
import { answerOf, clockRow } from './connection.ts'
import { filesOfThisMachine } from './files.ts'
import type { Files } from './files.ts'
import { judge } from './judge.ts'
import { lookAround } from './look-around.ts'
import { readingOf } from './reading.ts'

export interface ExamineOptions<Transaction> {
  readonly tasks: SqlTaskRepository<Transaction, Execution>
  /** Each check runs in a transaction of its own, which only reads. On SQLite, transactions of `sqliteTransactions` wait for writers. */
  readonly transactions: TransactionSource<Transaction>
  /** The notifier that nodes would use. Without one nobody sees whether notifications arrive. */
  readonly notifier?: TaskNotifier
  /** Whether to make checks too that read the whole database. Default: false. */
  readonly deep?: boolean
  /** The lease of the nodes, in milliseconds. Default: 30 000, as theirs. */
  readonly leaseMs?: number
  /** How long a check may take, in milliseconds, until it is skipped. Default: 200. */
  readonly limitMs?: number
  /** How long to wait for a notification, in milliseconds. Default: 1 000. */
  readonly wakeUpMs?: number
  /** Thresholds that replace those of the checks. */
  readonly thresholds?: Thresholds
  /** The clock of this process. Default: the real one. */
  readonly clock?: () => Date
  /** How the files of SQLite are looked at. Default: those of this machine. */
  readonly files?: Files
}

const optionNamesOfExamine = optionNames<ExamineOptions<never>>('an examination', {
  tasks: true,
  transactions: true,
  notifier: true,
  deep: true,
  leaseMs: true,
  limitMs: true,
  wakeUpMs: true,
  thresholds: true,
  clock: true,
  files: true,
})

/**
 * Examines a database and the tasks in it. Each check is made by itself: one that fails, or whose matter this user may not see, is reported as skipped. If
 * the database cannot be reached, that is the only finding. Nothing is written, and no remedy is run.
 *
 * @throws TaskError ARGUMENT_INVALID if an option is out of range
 * @example
 * const findings = await examine({ tasks, transactions })
 * const bad = findings.filter(({ severity }) => isAtLeast(severity, 'warn'))
 */
export async function examine<Transaction>(options: ExamineOptions<Transaction>): Promise<readonly Finding[]> {
  checkNames(optionNamesOfExamine, options)
  const { leaseMs = 30_000, limitMs = 200, wakeUpMs = 1_000, deep = false, files = filesOfThisMachine } = options
  const { tasks, transactions, notifier, clock = () => new Date() } = options
  for (const [name, ms] of Object.entries({ leaseMs, limitMs, wakeUpMs })) checkDuration(name, ms)
  const thresholds = { ...defaults, ...options.thresholds }
  const read = readingOf(tasks, transactions)
  try {
    const answer = await answerOf(read, clock)
    const findings = [
      judge('reachable', thresholds.reachable, []),
      judge('round-trip', thresholds['round-trip'], [{ value: answer.roundTripMs }]),
      judge('clock', thresholds.clock, [clockRow(answer)]),
      ...(await lookAround({ tasks, transactions, notifier, read, deep, leaseMs, limitMs, wakeUpMs, thresholds, files })),
    ]
    return findings.toSorted((left, right) => names.indexOf(left.check) - names.indexOf(right.check))
  } catch (error) {
    return [unreachable(error, thresholds.reachable)]
  }
}

/** The finding of a database that cannot be reached, or not even opened. */
export function unreachable(error: unknown, threshold: Threshold = defaults.reachable): Finding {
  const { facts, ...finding } = judge('reachable', threshold, [{ value: 1 }])
  // The server runs, and the address is right.
  const { page, remedy } = checks[isTaskError(error, 'DATABASE_BUSY') ? 'connections' : 'reachable']
  return {
    ...finding,
    page,
    remedy,
    measured: error instanceof Error ? error.message : String(error),
    facts: { ...facts, ...(isTaskError(error) && { code: error.code }) },
  }
}
