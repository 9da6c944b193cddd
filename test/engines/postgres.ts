/** Opens databases of PostgreSQL, with or without a pooler in front. */
import { randomBytes } from 'node:crypto'
import type { TransactionSource } from '@taskstream/task-api'
import type { SqlAdapter } from '@taskstream/task-sql'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import type { AnyTransaction } from '@taskstream/task-testing/suite'
import pg from 'pg'
import { isWorker } from '../databases/least-privilege.ts'
import { asPostgresAdministrator, createPostgresUsers } from '../databases/least-privilege-postgres.ts'
import type { EngineFacts } from './registry.ts'
import { repositories } from './subject.ts'
import type { Subject, Unmigrated } from './subject.ts'

/** Creates a database of its own. */
export async function createPostgres({ leastPrivilege, pooled }: EngineFacts, direct: string): Promise<Unmigrated> {
  const name = `taskstream_test_${randomBytes(6).toString('hex')}`
  if (leastPrivilege) {
    const users = await createPostgresUsers(direct, name)
    return { ...(await openPostgres(users.worker, users.remove, users.owner)), grant: users.grant }
  }
  await once(direct, `create database ${name}`)
  const url = new URL((pooled ? process.env['TASKSTREAM_PGBOUNCER'] : direct) ?? '')
  url.pathname = `/${name}`
  return openPostgres(url.href, () => once(direct, `drop database ${name} with (force)`))
}

async function once(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement)
  await client.end()
}

/** Opens an existing PostgreSQL database, as a worker process does. */
export async function openPostgres(
  url: string,
  remove: () => Promise<void> = async () => {},
  owner: string = url,
): Promise<Subject> {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  pool.on('error', () => {})
  const transactions = pgTransactions(pool) as TransactionSource<AnyTransaction>
  const owners = owner === url ? pool : new pg.Pool({ connectionString: owner, max: 10 })
  owners.on('error', () => {})
  const execute = isWorker(url) ? asPostgresAdministrator : fromPg.execute
  const open: pg.Client[] = []
  return {
    engine: 'postgres',
    location: { subject: 'postgres-18', at: url },
    writers: Infinity,
    connections: Infinity,
    transactions,
    tasks: repositories(
      postgres({ partitioned: process.env['TASKSTREAM_SUBJECT'] === 'postgres-partitioned' }),
      fromPg as SqlAdapter<AnyTransaction, 'async'>,
    ),
    owner: { transactions: pgTransactions(owners) as TransactionSource<AnyTransaction>, at: owner },
    execute: async (transaction, statement) => execute(transaction as pg.PoolClient, statement),
    session: async (as) => {
      const client = new pg.Client({ connectionString: as?.at ?? url })
      client.on('error', () => {})
      await client.connect()
      open.push(client)
      return {
        transaction: client,
        begin: async () => void (await client.query('begin')),
        commit: async () => void (await client.query('commit')),
        rollback: async () => void (await client.query('rollback')),
        close: () => client.end(),
      }
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(open.map((client) => client.end()))
      await pool.end()
      if (owners !== pool) await owners.end()
      await remove()
    },
  }
}
