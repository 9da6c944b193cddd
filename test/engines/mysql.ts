/** Opens databases of MariaDB and MySQL. */
import { randomBytes } from 'node:crypto'
import type { TransactionSource } from '@taskstream/task-api'
import type { SqlAdapter } from '@taskstream/task-sql'
import { fromMysql2, mariadb, mysql, mysql2Transactions } from '@taskstream/task-sql/mysql2'
import type { AnyTransaction } from '@taskstream/task-testing/suite'
import { createConnection, createPool } from 'mysql2/promise'
import type { Connection, PoolConnection } from 'mysql2/promise'
import { isWorker } from '../databases/least-privilege.ts'
import { asMariadbAdministrator, createMariadbUsers } from '../databases/least-privilege-mariadb.ts'
import type { EngineFacts } from './registry.ts'
import { repositories } from './subject.ts'
import type { Subject, Unmigrated } from './subject.ts'

/** Creates a database of its own. */
export async function createMysql(name: string, { leastPrivilege }: EngineFacts, direct: string): Promise<Unmigrated> {
  const database = `taskstream_test_${randomBytes(6).toString('hex')}`
  if (leastPrivilege) {
    const users = await createMariadbUsers(direct, database)
    return { ...(await openMysql(name, users.worker, users.remove, users.owner)), grant: users.grant }
  }
  await onceMysql(direct, `create database ${database}`)
  const url = new URL(direct)
  url.pathname = `/${database}`
  return openMysql(name, url.href, () => onceMysql(direct, `drop database ${database}`))
}

async function onceMysql(url: string, statement: string): Promise<void> {
  const connection = await createConnection({ uri: url })
  await connection.query(statement)
  await connection.end()
}

/** Opens an existing database of MariaDB or MySQL, as a worker process does. */
export async function openMysql(
  subject: string,
  url: string,
  remove: () => Promise<void> = async () => {},
  owner: string = url,
): Promise<Subject> {
  const pool = createPool({ uri: url, connectionLimit: 10 })
  const owners = owner === url ? pool : createPool({ uri: owner, connectionLimit: 10 })
  const execute: SqlAdapter<PoolConnection, 'async'>['execute'] = isWorker(url)
    ? (connection, statement) => asMariadbAdministrator(connection, statement, url)
    : fromMysql2.execute
  const open: Connection[] = []
  return {
    engine: 'mariadb',
    location: { subject, at: url },
    writers: Infinity,
    connections: Infinity,
    transactions: mysql2Transactions(pool) as TransactionSource<AnyTransaction>,
    tasks: repositories(subject === 'mysql' ? mysql() : mariadb(), fromMysql2 as SqlAdapter<AnyTransaction, 'async'>),
    owner: { transactions: mysql2Transactions(owners) as TransactionSource<AnyTransaction>, at: owner },
    execute: async (transaction, statement) => execute(transaction as PoolConnection, statement),
    session: async (as) => {
      const connection = await createConnection({ uri: as?.at ?? url })
      connection.on('error', () => {})
      open.push(connection)
      return {
        transaction: connection,
        begin: async () => {
          await connection.query('set transaction isolation level read committed')
          await connection.beginTransaction()
        },
        commit: () => connection.commit(),
        rollback: () => connection.rollback(),
        close: () => connection.end(),
      }
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(open.map((connection) => connection.end().catch(() => {})))
      await pool.end()
      if (owners !== pool) await owners.end()
      await remove()
    },
  }
}
