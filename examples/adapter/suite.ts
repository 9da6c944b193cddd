/** Runs the suite of taskstream's own engines against the adapter of this folder. This is a whole test file of vitest. */
import { sqlite } from '@taskstream/task-sql/better-sqlite3'
import { conformance, subjectOf } from '@taskstream/task-testing/suite'
import initSqlJs from 'sql.js'
import { fromSqlJs, sqlJsTransactions } from './from-sql-js.ts'

const { Database } = await initSqlJs()

conformance({
  name: 'sql.js',
  family: 'sqlite',
  connections: 1,
  writers: 1,
  synchronous: true,
  open: () => {
    const database = new Database()
    return subjectOf({
      dialect: sqlite(),
      adapter: fromSqlJs,
      transactions: sqlJsTransactions(database),
      session: async () => ({
        transaction: database,
        begin: async () => void database.run('begin immediate'),
        commit: async () => void database.run('commit'),
        rollback: async () => void database.run('rollback'),
        close: async () => {},
      }),
      close: async () => database.close(),
    })
  },
})
