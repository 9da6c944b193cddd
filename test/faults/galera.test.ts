/** Two nodes of a Galera cluster that both take writes: neither sees the other's locks, and of two that commit the same one fails. */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask, TransactionSource } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { fromMysql2, mariadb, mysql2Transactions } from '@taskstream/task-sql/mysql'
import type { Mysql2Connection } from '@taskstream/task-sql/mysql'
import { createConnection, createPool } from 'mysql2/promise'
import type { Pool, PoolConnection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { codeOf } from '../conformance/fixture.ts'
import { hasGalera, startGalera } from '../databases/galera.ts'
import type { Galera } from '../databases/galera.ts'
import { canRun } from '../subject.ts'

/** A process at one of the nodes. */
interface Site {
  readonly pool: Pool
  readonly transactions: TransactionSource<PoolConnection>
  readonly tasks: SqlTaskRepository<Mysql2Connection>
}

describe.skipIf(!canRun || !hasGalera)('a Galera cluster of two nodes', () => {
  let cluster: Galera
  let sites: readonly Site[]
  let topic = ''
  let count = 0
  beforeAll(async () => {
    cluster = await startGalera()
    const connection = await createConnection({ uri: cluster.nodes[0].url })
    await connection.query('create database tasks')
    await connection.query('create table tasks.effect (identifier varchar(50) primary key, times int not null)')
    await connection.end()
    sites = cluster.nodes.map((node) => {
      const pool = createPool({ uri: `${node.url}tasks`, connectionLimit: 4 })
      return {
        pool,
        // Whoever commits second has to do it all again.
        transactions: mysql2Transactions(pool, { retries: 100 }),
        tasks: sqlTaskRepository({ dialect: mariadb(), adapter: fromMysql2 }),
      }
    })
    await sites[0]!.tasks.migrate(sites[0]!.transactions)
    for (const { tasks, transactions } of sites) {
      // What one node has committed the other applies in its time.
      await vi.waitUntil(async () => (await tasks.schemaStatus(transactions)).works, { timeout: 30_000 })
      await transactions((transaction) => tasks.register(transaction))
    }
  }, 120_000)
  afterAll(async () => {
    for (const { pool } of sites) await pool.end()
    await cluster[Symbol.asyncDispose]()
  })
  const begin = async (identifiers: readonly string[]): Promise<void> => {
    topic = `topic-${count++}`
    const [{ tasks, transactions }] = sites as [Site]
    await transactions(async (transaction) => {
      await tasks.initialize(transaction, topic)
      await tasks.push(transaction, topic, identifiers)
    })
    for (const site of sites)
      await expect.poll(() => site.transactions((transaction) => site.tasks.topics(transaction))).toContain(topic)
  }

  /** Works until nothing comes any more: claims, and commits the claim, handles, and completes together with an effect. */
  const work = async ({ tasks, transactions }: Site): Promise<number> => {
    let done = 0
    for (let empty = 0; empty < 20;) {
      const batch = await transactions<HeldTask[]>((transaction) => tasks.poll(transaction, topic, { size: 5 }))
      empty = batch.length === 0 ? empty + 1 : 0
      const { completed } = await transactions<Completion>(async (transaction) => {
        for (const { identifier, sequence } of batch)
          await transaction.execute('insert into effect values (?, 1) on duplicate key update times = times + 1', [
            `${topic} ${identifier} ${sequence}`,
          ])
        return tasks.complete(transaction, topic, new Map(batch.map((task) => [task, TaskDecision.success()])))
      })
      done += completed.length
    }
    return done
  }
  const effects = async (): Promise<readonly number[]> => {
    const [rows] = await sites[0]!.pool.query('select times from effect where identifier like ?', [`${topic} %`])
    return (rows as { times: number }[]).map(({ times }) => times)
  }

  test('gives each task to one, whichever node claims it', async () => {
    await begin(Array.from({ length: 200 }, (_, index) => `i${index}`))
    const done = await Promise.all(sites.map(work))
    expect(done[0]! + done[1]!).toBe(200)
    const found = await effects()
    expect(found).toHaveLength(200)
    expect(found.every((times) => times === 1)).toBe(true)
  })

  test('refuses polls that would hold tasks by a lock alone', async () => {
    await begin(['a'])
    for (const { tasks, transactions } of sites)
      expect(await codeOf(() => transactions((transaction) => tasks.poll(transaction, topic, { hold: 'transaction' })))).toBe(
        'RUNTIME_UNSUPPORTED',
      )
  })
})
