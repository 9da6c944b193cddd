/** Opens databases of PostgreSQL, with or without a pooler in front. */
import { randomBytes } from 'node:crypto'
import { isTaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import type { SqlAdapter } from '@taskstream/task-sql'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import type { AnyTransaction, Tasks } from '@taskstream/task-testing/suite'
import pg from 'pg'
import { isWorker } from '../databases/least-privilege.ts'
import { asPostgresAdministrator, createPostgresUsers } from '../databases/least-privilege-postgres.ts'
import { readableTypes } from './readable-types.ts'
import type { EngineFacts } from './registry.ts'
import { repositories } from './subject.ts'
import type { Subject, Unmigrated } from './subject.ts'

/** Creates a database of its own. */
export async function createPostgres({ leastPrivilege, ownServer, pooled }: EngineFacts, direct: string): Promise<Unmigrated> {
  const name = `taskstream_test_${randomBytes(6).toString('hex')}`
  if (leastPrivilege) {
    const users = await createPostgresUsers(direct, name)
    return { ...(await openPostgres(users.worker, users.remove, users.owner)), grant: users.grant }
  }
  // A user's own server keeps nothing.
  const template = ownServer ? 'template1' : await (migrated ??= migrateTemplate(direct))
  await once(direct, `create database ${name} template ${template}`)
  const url = new URL((pooled ? process.env['TASKSTREAM_PGBOUNCER'] : direct) ?? '')
  url.pathname = `/${name}`
  return openPostgres(url.href, () => once(direct, `drop database ${name} with (force)`))
}

/** The database that all others of this process are copies of: to copy its tables takes half as long as to make them. */
let migrated: Promise<string> | undefined

async function migrateTemplate(direct: string): Promise<string> {
  const name = 'taskstream_template'
  await using client = await connect(direct)
  // Several processes of one run may ask for it at once.
  await client.query('select pg_advisory_lock(hashtext($1))', [name])
  if ((await client.query('select from pg_database where datname = $1', [name])).rowCount === 1) return name
  const making = `${name}_${randomBytes(6).toString('hex')}`
  await client.query(`create database ${making}`)
  const url = new URL(direct)
  url.pathname = `/${making}`
  {
    await using subject = await openPostgres(url.href)
    await subject.tasks().migrate(subject.transactions)
  }
  await client.query(`alter database ${making} rename to ${name}`)
  return name
}

async function once(url: string, statement: string): Promise<void> {
  await using client = await connect(url)
  await client.query(statement)
}

async function connect(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

/** Opens an existing PostgreSQL database, as a worker process does. */
export async function openPostgres(
  url: string,
  remove: () => Promise<void> = async () => {},
  owner: string = url,
): Promise<Subject> {
  const pool = new pg.Pool({ connectionString: url, max: 10, types: readableTypes })
  pool.on('error', () => {})
  const transactions = pgTransactions(pool) as TransactionSource<AnyTransaction>
  const owners = owner === url ? pool : new pg.Pool({ connectionString: owner, max: 10 })
  owners.on('error', () => {})
  const execute = isWorker(url) ? asPostgresAdministrator : fromPg.execute
  const open: pg.Client[] = []
  const tasks = repositories(
    postgres({ partitioned: process.env['TASKSTREAM_SUBJECT'] === 'postgres-partitioned' }),
    fromPg as SqlAdapter<AnyTransaction, 'async'>,
  )
  return {
    engine: 'postgres',
    location: { subject: 'postgres-18', at: url },
    writers: Infinity,
    connections: Infinity,
    transactions,
    tasks: process.env['TASKSTREAM_SUBJECT'] === 'postgres-outcomes' ? (options) => keepingOutcomes(tasks(options)) : tasks,
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

/** Initialises each topic so that it keeps outcomes, if it is one that can. */
function keepingOutcomes(tasks: Tasks): Tasks {
  const initialize: Tasks['initialize'] = async (transaction, topic, options) => {
    const { order = 'fifo', condition = 'none', keyed = false } = options ?? {}
    if (order !== 'fifo' || condition !== 'none' || keyed) return tasks.initialize(transaction, topic, options)
    try {
      return await tasks.initialize(transaction, topic, { record: 'outcomes', ...options })
    } catch (error) {
      // Who does not ask for a record takes the one that is there.
      if (options?.record || !isTaskError(error, 'TOPIC_DIFFERENT')) throw error
      return tasks.initialize(transaction, topic, options)
    }
  }
  return { ...tasks, initialize }
}
