/** What a MariaDB or MySQL may be short of. */
import { randomBytes } from 'node:crypto'
import type { TransactionSource } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { mysql2Transactions } from '@taskstream/task-sql/mysql'
import { createPool } from 'mysql2/promise'
import type { PoolConnection } from 'mysql2/promise'
import { expect } from 'vitest'
import type { AnyTransaction, Subject } from '../../subject.ts'
import { busy, execute, rowLocks } from './short-of.ts'
import type { Short, ShortOf } from './short-of.ts'

function openMysqlPool(
  uri: string,
  options: { limit?: number; waits?: boolean; sets?: string } = {},
): Short & {
  readonly pool: ReturnType<typeof createPool>
} {
  const { limit = 4, waits = true, sets } = options
  const pool = createPool({ uri, connectionLimit: limit, waitForConnections: waits })
  if (sets !== undefined) pool.on('connection', (connection) => void connection.query(`set session ${sets}`))
  return {
    pool,
    transactions: mysql2Transactions(pool) as TransactionSource<AnyTransaction>,
    begin: async () => {},
    end: async () => {},
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

function overMysql(subject: Subject, options: Parameters<typeof openMysqlPool>[1], how: Pick<Short, 'begin' | 'end'>): Short {
  const opened = openMysqlPool(subject.location.at, options)
  return {
    ...opened,
    ...how,
    [Symbol.asyncDispose]: async () => {
      await how.end()
      await opened[Symbol.asyncDispose]()
    },
  }
}

function saidByMysql(errno: number, named: Pick<ShortOf, 'code' | 'shortOf'>): ShortOf {
  return {
    name: `the server's word ${errno}`,
    said: true,
    ...named,
    open: async (subject) => {
      await execute(subject, raw('create table short_of (code int)'))
      await execute(
        subject,
        raw(`create trigger short before update on task for each row begin
               if new.state <> 0 and exists (select 1 from short_of) then
                 signal sqlstate 'HY000' set mysql_errno = ${errno}, message_text = 'short of something';
               end if;
             end`),
      )
      const short = overMysql(
        subject,
        {},
        {
          begin: async () => void (await execute(subject, raw('insert into short_of values (1)'))),
          end: async () => void (await execute(subject, raw('delete from short_of'))),
        },
      )
      return {
        ...short,
        [Symbol.asyncDispose]: async () => {
          await short[Symbol.asyncDispose]()
          await execute(subject, raw('drop trigger short'))
          await execute(subject, raw('drop table short_of'))
        },
      }
    },
  }
}

export const ofMysql: readonly ShortOf[] = [
  {
    name: 'a pool whose connections somebody else keeps',
    ...busy('connections'),
    open: async (subject) => {
      const opened = openMysqlPool(subject.location.at, { limit: 2, waits: false })
      const taken: PoolConnection[] = []
      const end = async (): Promise<void> => {
        for (const connection of taken.splice(0)) connection.release()
      }
      return {
        ...opened,
        begin: async () => {
          while (taken.length < 2)
            await opened.pool.getConnection().then(
              (connection) => taken.push(connection),
              () => new Promise((resolve) => setImmediate(resolve)),
            )
        },
        end,
        [Symbol.asyncDispose]: async () => {
          await end()
          await opened[Symbol.asyncDispose]()
        },
      }
    },
  },
  {
    name: 'a user with too many connections',
    ...busy('connections'),
    open: async (subject) => {
      const user = `short_${randomBytes(6).toString('hex')}`
      const url = new URL(subject.location.at)
      const database = url.pathname.slice(1)
      await execute(subject, raw(`create user ${user}@'%' identified by 'short'`))
      await execute(subject, raw(`grant all on ${database}.* to ${user}@'%'`))
      url.username = user
      url.password = 'short'
      const opened = openMysqlPool(url.href)
      const rivals = createPool({ uri: url.href, connectionLimit: 1 })
      return {
        ...opened,
        begin: async () => {
          const ids = await execute(subject, sql`select id from information_schema.processlist where user = ${user}`)
          await execute(subject, raw(`grant usage on *.* to ${user}@'%' with max_user_connections 1`))
          for (const { id } of ids) await execute(subject, raw(`kill ${Number(id)}`)).catch(() => {})
          // Whoever has the only one.
          await expect
            .poll(
              () =>
                rivals.query('select 1').then(
                  () => true,
                  () => false,
                ),
              { interval: 1 },
            )
            .toBe(true)
        },
        end: async () => void (await execute(subject, raw(`grant usage on *.* to ${user}@'%' with max_user_connections 0`))),
        [Symbol.asyncDispose]: async () => {
          await opened[Symbol.asyncDispose]()
          await rivals.end()
          await execute(subject, raw(`drop user ${user}@'%'`))
        },
      }
    },
  },
  {
    name: 'a statement that takes longer than max_statement_time',
    ...busy('time'),
    ofRows: true,
    open: async (subject) => overMysql(subject, { sets: 'max_statement_time = 0.5' }, rowLocks(subject)),
  },
  {
    name: 'a lock that innodb_lock_wait_timeout ends the wait for',
    ...busy('lock'),
    ofRows: true,
    open: async (subject) => overMysql(subject, { sets: 'innodb_lock_wait_timeout = 1' }, rowLocks(subject)),
  },
  {
    name: 'a statement that somebody kills',
    ...busy('time'),
    open: async (subject) => {
      const locks = rowLocks(subject)
      return overMysql(
        subject,
        {},
        {
          begin: async (tasks) => {
            await locks.begin(tasks)
            let waiting: number[] = []
            const find = async (): Promise<number> => {
              const rows = await execute(
                subject,
                raw("select trx_mysql_thread_id as id from information_schema.innodb_trx where trx_state = 'LOCK WAIT'"),
              )
              waiting = rows.map(({ id }) => Number(id))
              return waiting.length
            }
            void expect
              .poll(find, { interval: 20 })
              .toBeGreaterThan(0)
              .then(async () => {
                for (const id of waiting) await execute(subject, raw(`kill query ${id}`))
              })
          },
          end: locks.end,
        },
      )
    },
  },
  saidByMysql(1021, busy('disk')),
  saidByMysql(1041, busy('memory')),
  saidByMysql(1114, busy('disk')),
  saidByMysql(1206, busy('memory')),
  saidByMysql(1020, { code: 'TRANSACTION_CONFLICT' }),
]
