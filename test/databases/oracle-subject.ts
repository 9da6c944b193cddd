/** Opens Oracle for the suite, with a user for each database. This file has never been run on a server. */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { TransactionSource } from '@taskstream/task-api'
import { fromOracledb, oracle, oracledbTransactions } from '@taskstream/task-sql/oracledb'
import type { OracledbConnection } from '@taskstream/task-sql/oracledb'
import type { SqlAdapter } from '@taskstream/task-sql'
import type { Connection, ConnectionAttributes } from 'oracledb'
import type { AnyTransaction, Repositories, Subject } from '../subject.ts'

/** Creates a user without tables. `direct` is the URL of a user who may create users. */
export async function createOracle(direct: string, repositories: Repositories): Promise<Subject> {
  const name = `ts_${randomBytes(6).toString('hex')}`
  const password = `p${randomBytes(12).toString('hex')}`
  await once(direct, `create user ${name} identified by "${password}"`)
  await once(direct, `grant create session, create table, create sequence, create view, unlimited tablespace to ${name}`)
  const url = new URL(direct)
  url.username = name
  url.password = password
  return openOracle(url.href, repositories, () => drop(direct, name))
}

/** Opens the tables of an existing user, as a worker process does. */
export async function openOracle(
  at: string,
  repositories: Repositories,
  remove: () => Promise<void> = async () => {},
): Promise<Subject> {
  const { default: oracledb } = await import('oracledb')
  const pool = await oracledb.createPool({ ...attributesOf(at), poolMin: 0, poolMax: 10 })
  const adapter = fromOracledb(oracledb)
  const open: Connection[] = []
  const transactions = oracledbTransactions(pool) as TransactionSource<AnyTransaction>
  return {
    engine: 'oracle',
    location: { subject: 'oracle', at },
    writers: Infinity,
    connections: Infinity,
    transactions,
    owner: { transactions, at },
    tasks: repositories(oracle(), adapter as SqlAdapter<AnyTransaction, 'async'>),
    execute: async (transaction, statement) => adapter.execute(transaction as OracledbConnection, statement),
    session: async () => {
      const connection = await oracledb.getConnection(attributesOf(at))
      open.push(connection)
      return {
        transaction: connection,
        // In Oracle a transaction begins with its first statement.
        begin: async () => {},
        commit: () => connection.commit(),
        rollback: () => connection.rollback(),
        close: () => connection.close(),
      }
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(open.map((connection) => connection.close().catch(() => {})))
      await pool.close(0)
      await remove()
    },
  }
}

async function once(url: string, statement: string): Promise<void> {
  const { default: oracledb } = await import('oracledb')
  const connection = await oracledb.getConnection(attributesOf(url))
  await connection.execute(statement)
  await connection.close()
}

/** Drops a user. It tries again, as the server may notice late that the user's sessions have ended. */
async function drop(direct: string, name: string): Promise<void> {
  for (;;) {
    try {
      return await once(direct, `drop user ${name} cascade`)
    } catch (error) {
      // ORA-01940: cannot drop a user that is currently connected.
      if ((error as { code?: unknown }).code !== 'ORA-01940') throw error
      await delay(100)
    }
  }
}

function attributesOf(url: string): ConnectionAttributes {
  const { username, password, host, pathname } = new URL(url)
  return { user: decodeURIComponent(username), password: decodeURIComponent(password), connectString: `${host}${pathname}` }
}
