/** An example adapter for sql.js, which is SQLite as WebAssembly and runs wherever JavaScript runs. */
import type { TransactionSource } from '@taskstream/task-api'
import { render } from '@taskstream/task-sql'
import type { Row, SqlAdapter } from '@taskstream/task-sql'
import type { Database } from 'sql.js'

/** Gives statements to sql.js, which runs them synchronously. */
export const fromSqlJs: SqlAdapter<Database, 'sync'> = {
  execution: 'sync',
  execute: (database, statement) => {
    const prepared = database.prepare(render(statement, () => '?'))
    try {
      prepared.bind([...statement.values])
      const rows: Row[] = []
      while (prepared.step()) rows.push(prepared.getAsObject())
      return rows
    } finally {
      prepared.free()
    }
  },
}

/** Transactions take turns, because there is only one connection. */
export function sqlJsTransactions(database: Database): TransactionSource<Database> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const turn = last.then(async () => {
      database.run('begin immediate')
      try {
        const result = await work(database)
        database.run('commit')
        return result
      } catch (error) {
        database.run('rollback')
        throw error
      }
    })
    // The next transaction runs even if this one fails.
    last = turn.catch(() => {})
    return turn
  }
}
