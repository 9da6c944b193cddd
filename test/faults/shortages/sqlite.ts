/** Shortages that a SQLite file can have. */
import type { TransactionSource } from '@taskstream/task-api'
import { sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import { expect } from 'vitest'
import type { AnyTransaction } from '../../subject.ts'
import { busy } from './short-of.ts'
import type { ShortOf } from './short-of.ts'

export const ofSqlite: readonly ShortOf[] = [
  {
    name: 'a file that has no room',
    ...busy('disk'),
    open: async (subject) => {
      const { transaction: database } = await subject.session()
      const pragma = (text: string): unknown => database.prepare(`pragma ${text}`).all()
      return {
        transactions: sqliteTransactions(database as AnyTransaction) as TransactionSource<AnyTransaction>,
        begin: async () => void pragma('max_page_count = 1'),
        end: async () => void pragma('max_page_count = 1073741823'),
        [Symbol.asyncDispose]: async () => {},
      }
    },
  },
  {
    name: 'a file that another process keeps locked',
    ...busy('lock'),
    open: async (subject) => {
      const { transaction: database } = await subject.session()
      const rival = await subject.session()
      let locked = false
      const end = async (): Promise<void> => {
        if (locked) await rival.rollback()
        locked = false
      }
      return {
        transactions: sqliteTransactions(database as AnyTransaction, { busyTimeoutMs: 50 }),
        begin: async () => {
          await expect
            .poll(
              () =>
                rival.begin().then(
                  () => true,
                  () => false,
                ),
              { interval: 1 },
            )
            .toBe(true)
          locked = true
        },
        end,
        [Symbol.asyncDispose]: end,
      }
    },
  },
  {
    name: 'a connection that takes no writes',
    code: 'DATABASE_READ_ONLY',
    open: async (subject) => {
      const { transaction: database } = await subject.session()
      const pragma = (text: string): unknown => database.exec(`pragma ${text}`)
      return {
        transactions: sqliteTransactions(database as AnyTransaction),
        begin: async () => void pragma('query_only = 1'),
        end: async () => void pragma('query_only = 0'),
        [Symbol.asyncDispose]: async () => {},
      }
    },
  },
]
