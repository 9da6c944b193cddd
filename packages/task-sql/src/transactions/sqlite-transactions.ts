import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError, TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { sqlite } from '../dialects/sqlite.ts'

export interface SqliteTransactionsOptions {
  /** How long to go on trying while other processes write, in milliseconds, before DATABASE_BUSY. Default 10 000. */
  readonly busyTimeoutMs?: number
}

const longestPauseMs = 25

/**
 * Transactions on one connection, one after the other: it is this source's own, because a transaction stays open across awaits.
 * While another process writes, it waits without blocking the event loop.
 */
export function sqliteTransactions<Database extends { exec(text: string): unknown }>(
  database: Database,
  options: SqliteTransactionsOptions = {},
): TransactionSource<Database> {
  const { busyTimeoutMs = 10_000 } = options
  const inside = new AsyncLocalStorage<{ open: boolean }>()
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    if (inside.getStore()?.open) {
      // It would wait for the transaction that waits for it.
      return Promise.reject(
        new TaskError(
          'LIFECYCLE',
          'A transaction was asked for inside another on the same SQLite connection: use the one there is',
        ),
      )
    }
    const turn = last.then(async () => {
      await begin(database, busyTimeoutMs)
      const transaction = { open: true }
      try {
        const result = await inside.run(transaction, async () => work(database))
        database.exec('commit')
        return result
      } catch (error) {
        rollback(database)
        throw error
      } finally {
        transaction.open = false
      }
    })
    last = turn.catch(() => {})
    return turn
  }
}

/** Immediate: a deferred transaction that comes to write after another's commit fails at once, whatever the timeout. */
async function begin(database: { exec(text: string): unknown }, busyTimeoutMs: number): Promise<void> {
  const end = performance.now() + busyTimeoutMs
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      database.exec('begin immediate')
      return
    } catch (error) {
      const known = sqlite().classify(error)
      if (!isTaskError(known, 'DATABASE_BUSY')) throw known ?? error
      if (performance.now() > end) {
        throw new TaskError(
          'DATABASE_BUSY',
          `Another process kept the SQLite file locked for ${busyTimeoutMs} ms`,
          { busyTimeoutMs },
          { cause: error },
        )
      }
      await delay(pauseMs * (0.5 + Math.random()))
    }
  }
}

function rollback(database: { exec(text: string): unknown }): void {
  try {
    database.exec('rollback')
  } catch {
    // SQLite has rolled back by itself already, or the connection is closed; what is thrown is why.
  }
}
