/** SQLite files, with `synchronous: 'normal'`. Each backlog has a file of its own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import type { BetterSqlite3Connection } from '@taskstream/task-sql/better-sqlite3'
import { input } from '../speed/backlog-task.ts'
import { productBacklog } from './product.ts'
import { identifiersFrom, pushed } from './subject.ts'
import type { Backlog, Engine } from './subject.ts'

export function sqliteEngine(): Engine {
  const open = async (): Promise<{ readonly database: BetterSqlite3Connection; close(): Promise<void> }> => {
    const folder = mkdtempSync(join(tmpdir(), 'taskstream-loops-'))
    const database = await openBetterSqlite3(join(folder, 'tasks.db'), { synchronous: 'normal' })
    return {
      database,
      close: () => {
        database.close()
        rmSync(folder, { recursive: true, force: true })
        return Promise.resolve()
      },
    }
  }
  const product = async (): Promise<Backlog> => {
    const { database, close } = await open()
    const repository = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
    return productBacklog({ repository, transactions: sqliteTransactions(database) }, close)
  }
  const plain = (drainOf: (database: BetterSqlite3Connection) => (size: number) => number) => async (): Promise<Backlog> => {
    const { database, close } = await open()
    database.exec(`
      create table plain (
        sequence integer primary key autoincrement,
        topic text not null,
        identifier text not null,
        input text,
        state integer not null default 1,
        owner text
      ) strict;
      create index plain_state on plain (topic, state, sequence) where state <= 1`)
    const insert = database.prepare(`insert into plain (topic, identifier, input) values ('mail', ?, ?)`)
    return {
      push: (count) => {
        for (let from = 0; from < count; from += pushed)
          database
            .transaction(() => {
              for (const identifier of identifiersFrom(from)) insert.run(identifier, input)
            })
            .immediate()
        return Promise.resolve()
      },
      drain: (count, size) => {
        const drain = drainOf(database)
        for (let done = 0; done < count;) done += drain(size)
        return Promise.resolve()
      },
      [Symbol.asyncDispose]: close,
    }
  }
  return {
    name: 'SQLite',
    subjects: { taskstream: product, 'loop, taken and completed': plain(taking), 'loop, completed at once': plain(completing) },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

/** Takes rows in one transaction and completes them in another, as a lease does. */
function taking(database: BetterSqlite3Connection): (size: number) => number {
  const change = changing(database, `state = 0, owner = 'me'`)
  const complete = database.prepare(`update plain set state = 6 where sequence = ? and state = 0 and owner = 'me'`)
  return (size) => {
    const sequences = database.transaction(() => change(size)).immediate()
    database
      .transaction(() => {
        for (const sequence of sequences) complete.run(sequence)
      })
      .immediate()
    return sequences.length
  }
}

/** Completes rows in the transaction that found them. */
function completing(database: BetterSqlite3Connection): (size: number) => number {
  const change = changing(database, 'state = 6')
  return (size) => database.transaction(() => change(size)).immediate().length
}

function changing(database: BetterSqlite3Connection, set: string): (size: number) => readonly number[] {
  const select = database.prepare(
    `select * from plain where topic = 'mail' and state = 1 and state <= 1 order by sequence limit ?`,
  )
  const update = database.prepare(`update plain set ${set} where sequence = ?`)
  return (size) => {
    const sequences = (select.all(size) as { readonly sequence: number }[]).map(({ sequence }) => sequence)
    for (const sequence of sequences) update.run(sequence)
    return sequences
  }
}
