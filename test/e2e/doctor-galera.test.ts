/** The doctor on a node of a Galera cluster that is put into one bad state after the other. */
import { examine } from '@taskstream/task-operations'
import type { Finding, Thresholds } from '@taskstream/task-operations'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromMysql2, mariadb, mysql2Transactions } from '@taskstream/task-sql/mysql2'
import { createPool } from 'mysql2/promise'
import type { Pool } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { complaintsAmong, findingOf } from '../conformance/examining.ts'
import { hasGalera, startGalera } from '../databases/galera.ts'
import type { Galera } from '../databases/galera.ts'

const patient: Thresholds = { 'round-trip': { unit: 'ms', warn: Infinity } }
const patience = { timeout: 30_000 }

describe.skipIf(!hasGalera)('the doctor on a Galera cluster', () => {
  let cluster: Galera
  let pools: readonly [Pool, Pool]
  const tasks = sqlTaskRepository({ dialect: mariadb(), adapter: fromMysql2 })
  beforeAll(async () => {
    cluster = await startGalera()
    const [first, second] = cluster.nodes
    const root = createPool({ uri: first.url })
    await root.query('create database shop')
    await root.end()
    pools = [createPool({ uri: `${first.url}shop` }), createPool({ uri: `${second.url}shop` })]
    await tasks.migrate(mysql2Transactions(pools[0]))
    // What one node has committed the other applies in its time.
    await vi.waitUntil(async () => (await tasks.schemaStatus(mysql2Transactions(pools[1]))).works, patience)
  }, 120_000)
  afterAll(async () => {
    for (const pool of pools) await pool.end()
    await cluster[Symbol.asyncDispose]()
  })

  const findings = (thresholds: Thresholds = {}): Promise<readonly Finding[]> =>
    examine({
      tasks,
      transactions: mysql2Transactions(pools[0]),
      limitMs: 60_000,
      thresholds: { ...patient, ...thresholds },
    })
  const complaints = async (thresholds?: Thresholds): Promise<string[]> => complaintsAmong(await findings(thresholds))

  test('complains of nothing', async () => {
    await expect.poll(() => complaints(), patience).toEqual([])
    const all = await findings()
    expect(findingOf(all, 'cluster-state').severity).toBe('ok')
    expect(findingOf(all, 'cluster-flow').severity).toBe('ok')
  })

  test('finds that its server is not synced with the others', async () => {
    await pools[0].query('set global wsrep_desync = on')
    try {
      await expect.poll(() => complaints(), patience).toEqual(['cluster-state crit'])
      expect(findingOf(await findings(), 'cluster-state').measured).toContain('Desynced')
    } finally {
      await pools[0].query('set global wsrep_desync = off')
    }
    await expect.poll(() => complaints(), patience).toEqual([])
  })

  test('finds a node in mode transactional, where several servers take writes', async () => {
    const transactions = mysql2Transactions(pools[0])
    await transactions((transaction) => tasks.initialize(transaction, 'mails'))
    await expect.poll(async () => (await pools[1].query('select * from task_topic'))[0], patience).toHaveLength(1)
    await using node = new TaskNode({ repository: tasks, transactions, listener: {} })
    node.process('mails', { handler: eachTask(() => {}), mode: 'transactional' })
    await node.start()
    const few: Thresholds = { 'cluster-writers': { unit: 'any', crit: 0, from: { size: 5, unit: 'transactions' } } }
    for (let count = 0; count < 10; count++)
      for (const pool of pools) await pool.query(`update task_topic set listing = 1 - listing where topic = 'mails'`)
    await expect.poll(() => complaints(few), patience).toEqual(['cluster-writers crit'])
    expect(findingOf(await findings(few), 'cluster-writers').measured).toContain('in mode transactional')
    await node.stop()
  })

  test('finds that a server which cannot keep up makes the others wait', async () => {
    const slow = await pools[1].getConnection()
    const options = `set global wsrep_provider_options = 'gcs.fc_limit=1;gcs.fc_factor=0.5'`
    await slow.query(options)
    await pools[0].query('flush status')
    await slow.query('lock tables task_topic write')
    const writes = Array.from({ length: 5 }, async () => {
      for (let count = 0; count < 5; count++) await pools[0].query(`insert into task_topic (topic) values (uuid())`)
    })
    try {
      await expect.poll(() => complaints(), { ...patience, interval: 500 }).toContain('cluster-flow warn')
    } finally {
      await slow.query('unlock tables')
      slow.release()
    }
    await Promise.all(writes)
  })
})
