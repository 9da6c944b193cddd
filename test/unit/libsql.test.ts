/** libSQL is a SQLite with a driver of promises: the dialect of SQLite keeps its promises there. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import type { Client, InStatement, Transaction } from '@libsql/client'
import { fromLibsql, libsqlTransactions, sqlite } from '@taskstream/task-sql/libsql'
import { conformance, subjectOf } from '@taskstream/task-testing/suite'
import type { Session, Subject } from '@taskstream/task-testing/suite'

async function open(): Promise<Subject> {
  const folder = mkdtempSync(join(tmpdir(), 'taskstream-test-'))
  const client = createClient({ url: `file:${join(folder, 'tasks.db')}` })
  // No power cut is part of any test, and a commit without a sync is many times faster.
  await client.execute('pragma journal_mode = wal')
  return subjectOf({
    dialect: sqlite(),
    adapter: fromLibsql,
    transactions: libsqlTransactions(client),
    session: async () => sessionOf(client),
    close: async () => {
      client.close()
      rmSync(folder, { recursive: true, force: true })
    },
  })
}

/** A connection of libSQL is its transaction: each has its own. Outside of one the client's is used. */
function sessionOf(client: Client): Session {
  let current: Transaction | undefined
  const begin = async (): Promise<void> => void (current = await client.transaction('write'))
  const end = async (how: 'commit' | 'rollback'): Promise<void> => {
    await current?.[how]()
    current = undefined
  }
  return {
    transaction: { execute: (statement: InStatement) => (current ?? client).execute(statement) },
    begin,
    commit: () => end('commit'),
    rollback: () => end('rollback'),
    close: async () => {
      if (!current) await begin()
      current?.close()
    },
  }
}

conformance({ name: 'libsql', family: 'sqlite', connections: 2, writers: 1, synchronous: false, adapts: true, open })
