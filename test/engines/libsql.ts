/** libSQL: a file of SQLite, over promises. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import type { Client, InStatement } from '@libsql/client'
import type { TransactionSource } from '@taskstream/task-api'
import type { SqlAdapter } from '@taskstream/task-sql'
import { fromLibsql, libsqlTransactions, sqlite } from '@taskstream/task-sql/libsql'
import type { AnyTransaction, Session } from '@taskstream/task-testing/suite'
import { volatile } from '../databases/throw-away.ts'
import { repositories } from './subject.ts'
import type { Subject } from './subject.ts'

/** A file of its own. */
export async function createLibsql(): Promise<Subject> {
  const folder = mkdtempSync(join(volatile, 'taskstream-test-'))
  return openLibsql(join(folder, 'tasks.db'), () => rmSync(folder, { recursive: true, force: true }))
}

/** A file, as a worker process opens it too. */
export async function openLibsql(file: string, remove: () => void = () => {}): Promise<Subject> {
  const open = (): Client => createClient({ url: `file:${file}` })
  // Several processes may open a new file at once: this client waits for the others, and blocks meanwhile.
  const first = createClient({ url: `file:${file}`, timeout: 10_000 })
  await first.execute('pragma journal_mode = wal')
  first.close()
  const client = open()
  const opened = [client]
  const transactions = libsqlTransactions(client) as TransactionSource<AnyTransaction>
  return {
    engine: 'sqlite',
    location: { subject: 'libsql', at: file },
    writers: 1,
    connections: Infinity,
    transactions,
    owner: { transactions, at: file },
    tasks: repositories(sqlite(), fromLibsql as SqlAdapter<AnyTransaction, 'async'>),
    execute: async (transaction, statement) => fromLibsql.execute(transaction, statement),
    session: async () =>
      sessionOf(() => {
        const connection = open()
        opened.push(connection)
        return connection
      }),
    [Symbol.asyncDispose]: async () => {
      for (const each of opened) each.close()
      remove()
    },
  }
}

/**
 * What is done between `begin` and its end is done in a transaction of libSQL, and all else on a client of its own, which is replaced where it fails: a write that is
 * refused there keeps its connection from committing ever after.
 */
function sessionOf(open: () => Client): Session {
  const client = open()
  let alone = open()
  let current: Awaited<ReturnType<Client['transaction']>> | undefined
  const end = async (how: 'commit' | 'rollback'): Promise<void> => {
    const ending = current
    current = undefined
    try {
      await ending?.executeMultiple(how)
    } finally {
      ending?.close()
    }
  }
  return {
    transaction: {
      execute: async (statement: InStatement) => {
        if (current) return current.execute(statement)
        try {
          return await alone.execute(statement)
        } catch (error) {
          alone.close()
          if (!client.closed) alone = open()
          throw error
        }
      },
    },
    begin: async () => {
      const begun = await client.transaction('deferred')
      try {
        await begun.executeMultiple('rollback; begin immediate')
        current = begun
      } catch (error) {
        begun.close()
        throw error
      }
    },
    commit: () => end('commit'),
    rollback: () => end('rollback'),
    close: async () => {
      current?.close()
      current = undefined
      client.close()
      alone.close()
    },
  }
}
