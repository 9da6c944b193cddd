/** An adapter of somebody else's: sql.js, SQLite as WebAssembly, which runs wherever JavaScript does. */
import type { TransactionSource } from '@taskstream/task-api'
import { render } from '@taskstream/task-sql'
import type { Row, SqlAdapter } from '@taskstream/task-sql'
import type { Database } from 'sql.js'

/** Hands statements to sql.js, synchronously. */
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

/** Transactions on the one connection there is, one after the other. */
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
    // Whoever is next does not care how this one ended.
    last = turn.catch(() => {})
    return turn
  }
}
