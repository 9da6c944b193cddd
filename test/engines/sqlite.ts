/** Opens databases of SQLite, with either driver. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { SqlAdapter } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import type { SqliteDatabase } from '@taskstream/task-sql/better-sqlite3'
import { fromNodeSqlite, openNodeSqlite } from '@taskstream/task-sql/node-sqlite'
import type { AnyTransaction } from '@taskstream/task-testing/suite'
import { volatile } from '../databases/throw-away.ts'
import type { EngineFacts } from './registry.ts'
import { repositories } from './subject.ts'
import type { Subject } from './subject.ts'

/** Creates a database in a file of its own, or in memory. */
export async function createSqlite(name: string, { connections }: EngineFacts): Promise<Subject> {
  if (connections === 1) return openSqlite(name, ':memory:')
  const folder = mkdtempSync(join(volatile, 'taskstream-test-'))
  return openSqlite(name, join(folder, 'tasks.db'), () => rmSync(folder, { recursive: true, force: true }))
}

/** Opens a SQLite file, as a worker process does too. */
export async function openSqlite(subject: string, file: string, remove: () => void = () => {}): Promise<Subject> {
  // No test is about a power cut, and a commit without a sync is many times faster.
  const settings = { synchronous: 'normal', busyTimeoutMs: 0 } as const
  const open = (): Promise<AnyTransaction> =>
    subject === 'node-sqlite' ? openNodeSqlite(file, settings) : openBetterSqlite3(file, settings)
  const adapter: SqlAdapter<AnyTransaction, 'sync'> = subject === 'node-sqlite' ? fromNodeSqlite : fromBetterSqlite3
  const database = await open()
  const opened = [database]
  const transactions = sqliteTransactions(database as SqliteDatabase)
  return {
    engine: 'sqlite',
    location: { subject, at: file },
    writers: 1,
    connections: file === ':memory:' ? 1 : Infinity,
    transactions,
    owner: { transactions, at: file },
    tasks: repositories(sqlite(), adapter),
    execute: async (transaction, statement) => adapter.execute(transaction, statement),
    session: async () => {
      const connection = file === ':memory:' ? database : await open()
      if (connection !== database) opened.push(connection)
      return {
        transaction: connection,
        begin: async () => connection.exec('begin immediate'),
        commit: async () => connection.exec('commit'),
        rollback: async () => connection.exec('rollback'),
        // A database in memory has one connection, which the subject keeps and closes.
        close: async () => void (connection !== database && connection.close()),
      }
    },
    [Symbol.asyncDispose]: async () => {
      for (const connection of opened) {
        try {
          connection.close()
        } catch {
          // The test has already closed it.
        }
      }
      remove()
    },
  }
}
