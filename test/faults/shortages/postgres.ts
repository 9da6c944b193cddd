/** Shortages that a PostgreSQL server can have. */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { TransactionSource } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { pgTransactions } from '@taskstream/task-sql/pg'
import pg from 'pg'
import type { AnyTransaction, Subject } from '../../subject.ts'
import { busy, execute, rowLocks } from './short-of.ts'
import type { Short, ShortOf } from './short-of.ts'

function openPool(subject: Subject, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: subject.location.at, max: 4, ...options })
  pool.on('error', () => {})
  return pool
}

function overPg(pool: pg.Pool, how: Pick<Short, 'begin' | 'end'>): Short {
  return {
    transactions: pgTransactions(pool) as TransactionSource<AnyTransaction>,
    ...how,
    [Symbol.asyncDispose]: async () => {
      await how.end()
      await pool.end()
    },
  }
}

const inTheWay = sql`select pid from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0 and datname = current_database()`

/** A trigger raises the server's error as long as a row is there. */
function saidByPostgres(code: string, named: Pick<ShortOf, 'code' | 'shortOf'>): ShortOf {
  return {
    name: `the server's word ${code}`,
    said: true,
    ...named,
    open: async (subject) => {
      for (const statement of [
        'create table taskstream.short_of (code text)',
        `create function taskstream.short() returns trigger language plpgsql as $$
         begin
           if exists (select from taskstream.short_of) then
             raise exception 'short of something' using errcode = '${code}';
           end if;
           return new;
         end $$`,
        `create trigger short before update on taskstream.task
           for each row when (new.state <> 0) execute function taskstream.short()`,
        // The handler's own writes fail too.
        'create trigger short before insert on effect for each row execute function taskstream.short()',
      ])
        await execute(subject, raw(statement))
      const end = (): Promise<unknown> => execute(subject, raw('delete from taskstream.short_of'))
      const short = overPg(openPool(subject), {
        begin: async () => void (await execute(subject, raw("insert into taskstream.short_of values ('now')"))),
        end: async () => void (await end()),
      })
      return {
        ...short,
        [Symbol.asyncDispose]: async () => {
          await short[Symbol.asyncDispose]()
          await execute(subject, raw('drop function taskstream.short() cascade'))
          await execute(subject, raw('drop table taskstream.short_of'))
        },
      }
    },
  }
}

/** Makes a role that can be disconnected and locked out. */
async function openRole(subject: Subject, allow: (role: string, allowed: boolean) => string): Promise<Short> {
  const role = `short_${randomBytes(6).toString('hex')}`
  await execute(subject, raw(`create role ${role} login password 'short'`))
  for (const what of ['schema taskstream', 'all tables in schema taskstream, public', 'all sequences in schema taskstream'])
    await execute(subject, raw(`grant all on ${what} to ${role}`))
  const url = new URL(subject.location.at)
  url.username = role
  url.password = 'short'
  const pool = openPool(subject, { connectionString: url.href })
  const short = overPg(pool, {
    begin: async () => {
      await execute(subject, raw(allow(role, false)))
      const sendAway = (): Promise<unknown> =>
        execute(subject, sql`select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = ${role}`)
      await sendAway()
      // A connection may have been accepted just before and may not be listed yet, so the role is disconnected twice.
      const isLetIn = (): Promise<boolean> =>
        pool.connect().then(
          (client) => (client.release(true), true),
          () => false,
        )
      while (await isLetIn());
      await sendAway()
    },
    end: async () => void (await execute(subject, raw(allow(role, true)))),
  })
  return {
    ...short,
    [Symbol.asyncDispose]: async () => {
      await short[Symbol.asyncDispose]()
      await execute(subject, raw(`drop owned by ${role}`))
      await execute(subject, raw(`drop role ${role}`))
    },
  }
}

export const ofPostgres: readonly ShortOf[] = [
  {
    name: 'a pool whose connections somebody else keeps',
    ...busy('connections'),
    open: async (subject) => {
      const pool = openPool(subject, { max: 2, connectionTimeoutMillis: 1_000 })
      const taken: pg.PoolClient[] = []
      return overPg(pool, {
        begin: async () => {
          while (taken.length < 2)
            await pool.connect().then(
              (client) => taken.push(client),
              () => {},
            )
        },
        end: async () => {
          for (const client of taken.splice(0)) client.release()
        },
      })
    },
  },
  {
    name: 'a server with too many clients',
    ...busy('connections'),
    open: (subject) => openRole(subject, (role, allowed) => `alter role ${role} connection limit ${allowed ? -1 : 0}`),
  },
  {
    name: 'a role that may not log in',
    code: 'AUTHENTICATION_FAILED',
    open: (subject) => openRole(subject, (role, allowed) => `alter role ${role} ${allowed ? 'login' : 'nologin'}`),
  },
  {
    name: 'a statement that takes longer than statement_timeout',
    ...busy('time'),
    ofRows: true,
    open: async (subject) => overPg(openPool(subject, { options: '-c statement_timeout=500' }), rowLocks(subject)),
  },
  {
    name: 'a lock that lock_timeout ends the wait for',
    ...busy('lock'),
    ofRows: true,
    open: async (subject) => overPg(openPool(subject, { options: '-c lock_timeout=200' }), rowLocks(subject)),
  },
  {
    name: 'a statement that somebody cancels',
    ...busy('time'),
    open: async (subject) => {
      const locks = rowLocks(subject)
      const over = new AbortController()
      let cancelling: Promise<void> | undefined
      /** Cancels statements that wait for a row, as long as the shortage lasts: what was completed together is tried alone. */
      const cancel = async (): Promise<void> => {
        while (!over.signal.aborted) {
          for (const { pid } of await execute(subject, inTheWay))
            await execute(subject, sql`select pg_cancel_backend(${Number(pid)}::int)`)
          await delay(5)
        }
      }
      return overPg(openPool(subject), {
        begin: async (tasks) => {
          await locks.begin(tasks)
          cancelling ??= cancel()
        },
        end: async () => {
          over.abort()
          await cancelling
          await locks.end()
        },
      })
    },
  },
  {
    name: 'a connection on which nothing is answered',
    code: 'DATABASE_UNAVAILABLE',
    open: async (subject) => {
      const locks = rowLocks(subject)
      return overPg(openPool(subject, { query_timeout: 500 }), {
        begin: locks.begin,
        end: async () => {
          // The unanswered statement must not be run after all when the lock goes.
          await execute(subject, sql`select pg_terminate_backend(pid, 10000) from (${inTheWay}) waiting`)
          await locks.end()
        },
      })
    },
  },
  saidByPostgres('53000', busy('resources')),
  saidByPostgres('53100', busy('disk')),
  saidByPostgres('53200', busy('memory')),
  saidByPostgres('40001', { code: 'TRANSACTION_CONFLICT' }),
  saidByPostgres('58030', busy('resources')),
]
