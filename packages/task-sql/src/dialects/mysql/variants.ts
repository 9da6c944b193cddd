/** What MariaDB and MySQL say and do differently: chosen once, and asked by name everywhere else. */
import { TaskError } from '@taskstream/task-api'
import type { Repair } from '@taskstream/task-api'
import type { RowColumn, Selection } from '../../core/requests.ts'
import { toNumber } from '../../core/task-row.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Row, Verb } from '../../core/verb.ts'
import { sequenceBehind } from '../shared/sequence-behind.ts'
import { isTaken } from './errors.ts'
import { advanceMariadbSequence } from './repair.ts'
import type { MysqlDefinitions, MysqlTables } from './schema.ts'
import { rows, table } from './values.ts'

export interface MysqlVariant {
  readonly definitions: MysqlDefinitions
  /** Rows to be inserted, as a table `r`. */
  rows(columns: readonly RowColumn[]): Statement
  /** Ends a select that locks rows of the table with this alias. */
  lock(alias: string, mode: Selection['locked']): Statement
  /** Ends a select that sees what was committed last: a locking read is a current one. */
  readonly latest: Statement
  /** A column by which the rows of an insertion are found again, and its value. */
  numbering(tables: MysqlTables): readonly [column: Statement, value: Statement]
  /** Ends an insertion that tells these columns of its rows. */
  returning(columns: string): Statement
  /** What an insertion has inserted, by what it has told. */
  insertedRows(tables: MysqlTables, told: readonly Row[], topic: string, columns: string): Verb<readonly Row[]>
  /** Checks why an insertion has left out rows. @throws TaskError SEQUENCE_BEHIND */
  checkLeftOut(): Verb<void>
  /** Makes `locks.check` of a dialect, where one is needed. */
  readonly locksChecked?: () => () => Verb<void>
  advanceSequence(tables: MysqlTables): Verb<Repair['sequence']>
}

export const mariadbVariant: MysqlVariant = {
  definitions: {
    collation: 'utf8mb4_nopad_bin',
    // By what a cluster says, which is 1 where there is none: Galera refuses any other sequence that is not written at every use.
    sequence: (name) => [sql`create sequence if not exists ${name} minvalue 1 maxvalue 9007199254740991 increment by 0`],
    number: nothing,
    key: nothing,
  },
  rows,
  // It locks tables only, and cannot be told which.
  lock: (_alias, mode) => raw(`for update${skipping(mode)}`),
  latest: raw('lock in share mode'),
  // Numbers are drawn in the statement: as a column's default they crash the server when a prepared insert is run again.
  numbering: ({ sequence }) => [raw('sequence'), sql`next value for ${sequence}`],
  returning: (columns) => raw(`returning ${columns}`),
  // oxlint-disable-next-line require-yield -- the insertion has told all
  insertedRows: function* (_tables, told) {
    return told
  },
  // Rows whose external id is there are left out, and rows whose number is there too.
  checkLeftOut: function* () {
    const warnings = yield raw('show warnings')
    if (warnings.some(({ Message }) => isTaken(String(Message)))) throw sequenceBehind()
  },
  locksChecked: checkGalera,
  advanceSequence: advanceMariadbSequence,
}

export const mysqlVariant: MysqlVariant = {
  // A table that numbers its rows wants an index that begins with the column.
  definitions: {
    collation: 'utf8mb4_0900_bin',
    sequence: () => [],
    number: raw('auto_increment'),
    key: raw('key task_sequence (sequence),'),
  },
  // It cuts a value that stands for itself to 64 kB.
  rows: (columns) => table('r', columns),
  // It would lock what is not a table too, and refuses.
  lock: (alias, mode) => raw(`for update of ${alias}${skipping(mode)}`),
  latest: raw('for share of t'),
  // It numbers rows itself, and does not tell: its rows bear the connection that has inserted them.
  numbering: () => [raw('mark'), raw('connection_id()')],
  returning: () => nothing,
  insertedRows: function* ({ task }, told, topic, columns) {
    const { affectedRows, insertId } = told[0] ?? {}
    if (!Number(affectedRows)) return []
    return yield sql`
      select ${raw(columns)}
        from ${task} t force index (primary)
       where t.topic = ${topic} and t.sequence >= ${toNumber(insertId)} and t.mark = connection_id()
       order by t.sequence
       limit ${Number(affectedRows)}`
  },
  checkLeftOut: function* () {
    // A column that numbers rows by itself is never behind them.
  },
  // oxlint-disable-next-line require-yield -- the same
  advanceSequence: function* () {
    return 'ahead'
  },
}

function skipping(mode: Selection['locked']): string {
  return mode === 'skip' ? ' skip locked' : ''
}

/** Nodes of a Galera cluster see each other's writes as they commit, and no locks. */
function checkGalera(): () => Verb<void> {
  let galera: boolean | undefined
  return function* () {
    galera ??= (yield raw(`show global variables like 'wsrep_on'`))[0]?.['Value'] === 'ON'
    if (galera) {
      throw new TaskError(
        'RUNTIME_UNSUPPORTED',
        'This server is of a Galera cluster, whose other nodes do not see its locks: process this topic in leased mode',
        { found: 'Galera', needed: 'leased mode' },
      )
    }
  }
}
