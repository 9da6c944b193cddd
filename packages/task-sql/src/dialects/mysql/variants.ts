/** The differences between MariaDB and MySQL. A dialect chooses one variant; the other files use its members by name. */
import { TaskError } from '@taskstream/task-api'
import type { Repair } from '@taskstream/task-api'
import type { RowColumn, Selection } from '../../core/requests.ts'
import { toNumber } from '../../core/task-row.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Row, Verb } from '../../core/verb.ts'
import { sequenceBehind } from '../shared/sequence-behind.ts'
import { isTaken } from './errors.ts'
import { mariadbExamination, mysqlExamination } from './examination-variants.ts'
import type { MysqlExaminationVariant } from './examination-variants.ts'
import { advanceMariadbSequence } from './repair.ts'
import type { MysqlDefinitions, MysqlTables } from './schema.ts'
import { rows, table } from './values.ts'

export interface MysqlVariant {
  readonly system: 'mariadb' | 'mysql'
  readonly definitions: MysqlDefinitions
  /** The rows to insert, as a table `r`. */
  rows(columns: readonly RowColumn[]): Statement
  /** Ends a select that locks rows of the table with this alias. */
  lock(alias: string, mode: Selection['locked']): Statement
  /** Ends a select that reads rows as last committed, as a locking read does. */
  readonly latest: Statement
  /** How far joins may use a buffer, as a number; 0 where there is no such setting. */
  readonly joins: Statement
  /** A column that an insertion fills, and its value. On MariaDB this is the sequence; on MySQL it is a mark by which the rows are found again. */
  numbering(tables: MysqlTables): readonly [column: Statement, value: Statement]
  /** Ends an insertion that returns these columns of its rows. Empty on a server without RETURNING. */
  returning(columns: string): Statement
  /** Returns the inserted rows. `told` is the result of the insertion's statement. */
  insertedRows(tables: MysqlTables, told: readonly Row[], topic: string, columns: string): Verb<readonly Row[]>
  /** Checks that the insertion left out rows only because of their external ids. @throws TaskError SEQUENCE_BEHIND */
  checkLeftOut(): Verb<void>
  /** Makes `locks.check` of a dialect; absent if the check is not needed. */
  readonly locksChecked?: () => () => Verb<void>
  advanceSequence(tables: MysqlTables): Verb<Repair['sequence']>
  /** The variable of a session that says how long a statement may take: on MySQL one that only reads. 0: as long as it likes. */
  readonly timeSetting: string
  /** The value of that variable. */
  timeOf(ms: number): string
  /** The variable of a session that says for how many seconds its transaction may idle. */
  readonly idleSetting: string
  readonly examination: MysqlExaminationVariant
}

export const mariadbVariant: MysqlVariant = {
  system: 'mariadb',
  definitions: {
    collation: 'utf8mb4_nopad_bin',
    // With `increment by 0` a cluster sets the increment, which is 1 without a cluster. Galera refuses a cached sequence with another increment.
    sequence: (name) => [sql`create sequence if not exists ${name} minvalue 1 maxvalue 9007199254740991 increment by 0`],
    number: nothing,
    key: nothing,
    addColumns: (name, ...definitions) => [
      sql`alter table ${name} ${raw(definitions.map((one) => `add ${one.replace(/^(key )?/, '$1if not exists ')}`).join(', '))}`,
    ],
  },
  rows,
  // MariaDB has no `of`, and does not need it: it locks only rows of tables.
  lock: (_alias, mode) => raw(`for update${skipping(mode)}`),
  latest: raw('lock in share mode'),
  joins: raw('@@join_cache_level'),
  // The statement draws the numbers. If a column's default draws them, a second run of a prepared insert crashes the server.
  numbering: ({ sequence }) => [raw('sequence'), sql`next value for ${sequence}`],
  returning: (columns) => raw(`returning ${columns}`),
  // oxlint-disable-next-line require-yield -- the insertion has returned its rows
  insertedRows: function* (_tables, told) {
    return told
  },
  // `insert ignore` leaves out rows with a taken external id, but also rows with a taken number.
  checkLeftOut: function* () {
    const warnings = yield raw('show warnings')
    if (warnings.some(({ Message }) => isTaken(String(Message)))) throw sequenceBehind()
  },
  locksChecked: checkGalera,
  advanceSequence: advanceMariadbSequence,
  timeSetting: 'max_statement_time',
  timeOf: (ms) => String(ms / 1_000),
  idleSetting: 'idle_transaction_timeout',
  examination: mariadbExamination,
}

export const mysqlVariant: MysqlVariant = {
  system: 'mysql',
  // MySQL has no sequences. For `auto_increment` it requires an index that begins with the column.
  definitions: {
    collation: 'utf8mb4_0900_bin',
    sequence: () => [],
    number: raw('auto_increment'),
    key: raw('key task_sequence (sequence),'),
    // MySQL cannot add a column only if it is missing. So the session's own variable gets the definition, or a statement that does nothing.
    addColumns: (name, ...definitions) => {
      const [table = '', database] = (name.texts[0] ?? '').replaceAll('`', '').split('.').toReversed()
      const [column] = (definitions[0] ?? '').split(' ')
      const schema = database === undefined ? 'database()' : `'${database}'`
      return [
        raw(`set @taskstream_step = if(
  exists (select 1 from information_schema.columns where table_schema = ${schema} and table_name = '${table}' and column_name = '${column}'),
  'do 0',
  'alter table ${name.texts[0]} ${definitions.map((one) => `add ${one}`).join(', ')}')`),
        raw('prepare taskstream_step from @taskstream_step'),
        raw('execute taskstream_step'),
        raw('deallocate prepare taskstream_step'),
      ]
    },
  },
  // MySQL truncates a parameter that is a whole column to 64 kB, so even a single row is sent as JSON.
  rows: (columns) => table('r', columns),
  // Without `of`, MySQL would try to lock JSON_TABLE too, and refuse the statement.
  lock: (alias, mode) => raw(`for update of ${alias}${skipping(mode)}`),
  latest: raw('for share of t'),
  joins: raw('0'),
  // MySQL numbers rows by itself and does not return the numbers. The column `mark` therefore has the id of the inserting connection.
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
    // MySQL's column numbers the rows itself, so a number is never taken.
  },
  // oxlint-disable-next-line require-yield -- MySQL's column is never behind its rows
  advanceSequence: function* () {
    return 'ahead'
  },
  timeSetting: 'max_execution_time',
  timeOf: String,
  // MySQL ends any connection that idles, whether a transaction is open or not.
  idleSetting: 'wait_timeout',
  examination: mysqlExamination,
}

function skipping(mode: Selection['locked']): string {
  return mode === 'skip' ? ' skip locked' : ''
}

/** Refuses row locks on a Galera cluster: a node sees the writes of other nodes when they commit, but not their locks. */
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
