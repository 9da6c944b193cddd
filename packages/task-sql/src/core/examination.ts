/** What a dialect can say about the health of its database. Judgements, thresholds and texts are those of `@taskstream/task-operations`. */
import { nothing } from './statement.ts'
import type { Statement } from './statement.ts'
import type { Row, Verb } from './verb.ts'

/** Every look that some dialect has. */
export const lookNames = [
  // Every engine with our tables.
  'nobody-processes',
  'node-failing',
  'failing',
  'release-skew',
  'options-unlike',
  'event-loop',
  'paused',
  'overdue',
  'owner-silent',
  'timer-overdue',
  'retry-endless',
  'identifier-blocked',
  'history',
  'attempts',
  'rights',
  // Servers.
  'read-only',
  'transaction-open',
  'lock-waits',
  'connections',
  // PostgreSQL.
  'postgres-version',
  'transaction-prepared',
  'replication-slot',
  'hot-updates',
  'dead-rows',
  'never-analysed',
  'index-invalid',
  'partition-detaching',
  'autovacuum',
  'wraparound',
  'partition-locks',
  'fsync',
  'full-page-writes',
  'synchronous-commit',
  // MariaDB and MySQL.
  'mariadb-version',
  'mysql-version',
  'storage-engine',
  'collation',
  'history-list',
  'flush-log',
  'cluster-state',
  'cluster-writers',
  'cluster-flow',
  // SQLite.
  'journal',
  'synchronous',
  'busy-timeout',
  'file',
  'free-pages',
  'statistics',
  'integrity',
] as const

export type LookName = (typeof lookNames)[number]

export interface LookOptions {
  /** Epoch milliseconds of a test clock, or null for the database's own. */
  readonly now: number | null
  /** After how long without a heartbeat an owner counts as silent. */
  readonly leaseMs: number
}

/**
 * A look at one thing. It reads a bounded number of rows, each by an index, and locks and writes nothing. Of its rows the following columns count for every
 * look, and the texts of a check may name more:
 *
 * - `value`: the number that is compared with the threshold. Null says that this database cannot tell
 * - `size`: how much the value is about, such as the rows of a table. Small ones are passed over
 * - `remedy`: a statement that would help, for people to run. No look runs it
 * - `hidden`: 1 in a row that only says that this user does not see everything
 */
export interface Look {
  read(options: LookOptions): Verb<readonly Row[]>
  /** What to grant to a user who is refused, or does not see everything. */
  readonly grant?: string
  /** Whether the look reads the whole database, so that it is made only when it is asked for, and without a limit of its time. */
  readonly deep?: boolean
}

export type Looks = Readonly<Partial<Record<LookName, Look>>>

export interface Examination {
  /** Begins a look in its transaction, which from here on only reads. None of its statements may take longer than the limit. */
  begin(limitMs: number): readonly Statement[]
  /** Limits the time of a statement, where `begin` cannot. */
  limited(statement: Statement, limitMs: number): Statement
  /** Ends a select that reads no table. */
  readonly oneRow: Statement
  /** Selects this user, as the column `name`, in the form in which rights are granted to it. Absent where nobody grants anything. */
  readonly user?: Statement
  /**
   * Statements that change no row, one for each right of a working user. A transaction that only reads refuses all of them, and those for which a right is
   * missing with PERMISSION_DENIED. Such an error does not end the transaction. Absent where a look finds the rights.
   */
  readonly probes?: readonly Statement[]
  /** Whether an error of a look says that the database is damaged. */
  damaged(error: unknown): boolean
  readonly looks: Looks
}

/** Default: no looks but those that every engine has. */
export const commonExamination: Examination = {
  begin: () => [],
  limited: (statement) => statement,
  oneRow: nothing,
  damaged: () => false,
  looks: {},
}

/** A look that is one statement. */
export function look(statement: Statement, grant?: string): Look {
  return {
    read: function* () {
      return yield statement
    },
    ...(grant !== undefined && { grant }),
  }
}
