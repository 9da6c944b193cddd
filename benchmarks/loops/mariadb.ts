/** MariaDB, whose log is flushed once a second, so that the disk stays out of the comparison. Each backlog has a database of its own. */
import { createPool } from 'mysql2/promise'
import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromMysql2, mariadb, mysql2Transactions } from '@taskstream/task-sql/mysql2'
import { startMariaDb } from '../../test/databases/mariadb-server.ts'
import { input } from '../speed/backlog-task.ts'
import { productBacklog } from './product.ts'
import { identifiersFrom, pushed } from './subject.ts'
import type { Backlog, Engine } from './subject.ts'

export async function mariadbEngine(): Promise<Engine> {
  const server = await startMariaDb({ settings: { 'innodb-buffer-pool-size': '512M' } })
  let databases = 0
  const open = async (): Promise<{ readonly pool: Pool; close(): Promise<void> }> => {
    const database = `loops_${++databases}`
    const root = createPool({ uri: server.url })
    await root.query(`create database ${database}`)
    const pool = createPool({ uri: server.url + database })
    return {
      pool,
      close: async () => {
        await pool.end()
        await root.query(`drop database ${database}`)
        await root.end()
      },
    }
  }
  const product = async (): Promise<Backlog> => {
    const { pool, close } = await open()
    const repository = sqlTaskRepository({ dialect: mariadb(), adapter: fromMysql2 })
    return productBacklog({ repository, transactions: mysql2Transactions(pool) }, close)
  }
  const plain = (drain: typeof take) => async (): Promise<Backlog> => {
    const { pool, close } = await open()
    await pool.query(`
      create table plain (
        topic varchar(250) not null,
        sequence bigint not null auto_increment,
        identifier varchar(500) not null,
        input longtext,
        state tinyint not null default 1,
        owner varchar(250),
        primary key (topic, sequence),
        key (sequence),
        key plain_state (topic, state, sequence)
      ) engine = InnoDB`)
    return {
      push: async (count) => {
        for (let from = 0; from < count; from += pushed) {
          const rows = identifiersFrom(from).map((identifier) => ['mail', identifier, input])
          await inTransaction(pool, (connection) =>
            connection.query('insert into plain (topic, identifier, input) values ?', [rows]),
          )
        }
      },
      drain: async (count, size) => {
        for (let done = 0; done < count;) done += await drain(pool, size)
      },
      [Symbol.asyncDispose]: close,
    }
  }
  return {
    name: 'MariaDB',
    pid: server.pid,
    subjects: { taskstream: product, 'loop, taken and completed': plain(take), 'loop, completed at once': plain(complete) },
    [Symbol.asyncDispose]: () => server.stop(),
  }
}

/** Takes rows in one transaction and completes them in another, as a lease does. */
async function take(pool: Pool, size: number): Promise<number> {
  const sequences = await inTransaction(pool, (connection) => change(connection, size, `state = 0, owner = 'me'`))
  await inTransaction(pool, (connection) =>
    connection.query(`update plain set state = 6 where topic = 'mail' and sequence in (?) and state = 0 and owner = 'me'`, [
      sequences,
    ]),
  )
  return sequences.length
}

/** Completes rows in the transaction that locked them. */
async function complete(pool: Pool, size: number): Promise<number> {
  return (await inTransaction(pool, (connection) => change(connection, size, 'state = 6'))).length
}

async function change(connection: PoolConnection, size: number, set: string): Promise<number[]> {
  const [rows] = await connection.query<RowDataPacket[]>(
    `select * from plain where topic = 'mail' and state = 1 order by sequence limit ? for update skip locked`,
    [size],
  )
  const sequences = rows.map(({ sequence }) => Number(sequence))
  await connection.query(`update plain set ${set} where topic = 'mail' and sequence in (?)`, [sequences])
  return sequences
}

/** A transaction as `mysql2Transactions` begins it. */
async function inTransaction<Result>(pool: Pool, work: (connection: PoolConnection) => Promise<Result>): Promise<Result> {
  const connection = await pool.getConnection()
  await connection.query('set transaction isolation level read committed')
  await connection.query('start transaction')
  const result = await work(connection)
  await connection.query('commit')
  connection.release()
  return result
}
