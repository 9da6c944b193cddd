/** What beats in the thread of the bundled program: an entry of the bundle of its own. */
import type { OpenThreadBeat } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromNodeSqlite, openNodeSqlite, sqlite, sqliteTransactions } from '@taskstream/task-sql/node-sqlite'

const open: OpenThreadBeat = async (owner) => {
  const database = await openNodeSqlite(process.env['DATABASE_FILE']!)
  const transactions = sqliteTransactions(database)
  const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite, speaksFor: owner })
  return { heartbeat: () => transactions<boolean>((transaction) => tasks.heartbeat(transaction)), close: () => database.close() }
}

export default open
