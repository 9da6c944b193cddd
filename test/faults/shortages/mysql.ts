/** Shortages that a MariaDB or MySQL server can have. */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { TransactionSource } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { mysql2Transactions } from '@taskstream/task-sql/mysql2'
import { createPool } from 'mysql2/promise'
import type { PoolConnection, RowDataPacket } from 'mysql2/promise'
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
      // The handler's own writes fail too.
      await execute(
        subject,
        raw(`create trigger short_effect before insert on effect for each row begin
               if exists (select 1 from short_of) then
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
          await execute(subject, raw('drop trigger short_effect'))
          await execute(subject, raw('drop table short_of'))
        },
      }
    },
  }
}

interface Rival {
  /** Holds the user's only connection from its first answer. */
  ask(): Promise<number>
  end(): Promise<void>
}

/** Makes a database user that can be disconnected and locked out. */
async function openUser(
  subject: Subject,
  how: { refuse(user: string, url: string): Promise<Rival | void>; allow(user: string): string },
): Promise<Short> {
  const name = `short_${randomBytes(6).toString('hex')}`
  const user = `${name}@'%'`
  const url = new URL(subject.location.at)
  await execute(subject, raw(`create user ${user} identified by 'short'`))
  await execute(subject, raw(`grant all on ${url.pathname.slice(1)}.* to ${user}`))
  url.username = name
  url.password = 'short'
  const opened = openMysqlPool(url.href)
  let rival: Rival | void
  return {
    ...opened,
    begin: async () => {
      rival = await how.refuse(user, url.href)
      // The server counts no connection that is older than the limit, and the node may have opened one meanwhile.
      await expect
        .poll(
          async () => {
            const own = await rival?.ask().catch(() => undefined)
            const rows = await execute(subject, sql`select id from information_schema.processlist where user = ${name}`)
            const others = rows.map(({ id }) => Number(id)).filter((id) => id !== own)
            for (const id of others) await execute(subject, raw(`kill ${id}`)).catch(() => {})
            return others.length === 0 && (!rival || own !== undefined)
          },
          { interval: 1, timeout: 10_000 },
        )
        .toBe(true)
    },
    end: async () => void (await execute(subject, raw(how.allow(user)))),
    [Symbol.asyncDispose]: async () => {
      await opened[Symbol.asyncDispose]()
      await rival?.end()
      await execute(subject, raw(`drop user ${user}`))
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
    open: (subject) =>
      openUser(subject, {
        refuse: async (user, url) => {
          await execute(subject, raw(`grant usage on *.* to ${user} with max_user_connections 1`))
          // Another pool holds the only connection.
          const rival = createPool({ uri: url, connectionLimit: 1 })
          return {
            ask: async () => {
              const [rows] = await rival.query<RowDataPacket[]>('select connection_id() as id')
              return Number(rows[0]!['id'])
            },
            end: () => rival.end(),
          }
        },
        allow: (user) => `grant usage on *.* to ${user} with max_user_connections 0`,
      }),
  },
  {
    name: 'a user whose password is another',
    code: 'AUTHENTICATION_FAILED',
    open: (subject) =>
      openUser(subject, {
        refuse: async (user) => void (await execute(subject, raw(`alter user ${user} identified by 'another'`))),
        allow: (user) => `alter user ${user} identified by 'short'`,
      }),
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
      // Other tests use the same server.
      const waiting = raw(
        `select t.trx_mysql_thread_id as id
           from information_schema.innodb_trx t
           join information_schema.processlist p on p.id = t.trx_mysql_thread_id
          where t.trx_state = 'LOCK WAIT' and p.db = database()`,
      )
      const over = new AbortController()
      let killing: Promise<void> | undefined
      /** Kills queries that wait for a row, as long as the shortage lasts. */
      const kill = async (): Promise<void> => {
        while (!over.signal.aborted) {
          // The query may have ended by itself.
          for (const { id } of await execute(subject, waiting))
            await execute(subject, raw(`kill query ${Number(id)}`)).catch(() => {})
          // When asked again within 100 ms, the server repeats its last answer.
          await delay(200)
        }
      }
      return overMysql(
        subject,
        {},
        {
          begin: async (tasks) => {
            await locks.begin(tasks)
            killing = kill()
          },
          end: async () => {
            over.abort()
            await killing
            await locks.end()
          },
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
