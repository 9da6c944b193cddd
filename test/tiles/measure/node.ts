/** Drains with a TaskNode, in which the records take turns in every round. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import pg from 'pg'
import type { TaskRecord } from '../guards.ts'
import type { Connection } from '../scenarios/lab.ts'
import { Tiles } from '../tiles.ts'
import { medianOf, round } from './figures.ts'
import { nodeTopic, tileSchema } from './node-topic.ts'
import type { NodeOrder, NodeReport } from './node-worker.ts'
import { connect } from './subjects.ts'

export interface NodeFigures {
  readonly record: string
  readonly size: number | 'default'
  readonly processes: number
  /** Thousands of tasks a second. */
  readonly rate: number
  readonly serverUs: number
  readonly nodeUs: number
  readonly wal: number
}

type Case = Pick<NodeFigures, 'size' | 'processes'>

const records = ['states', 'outcomes of the product', 'outcomes', 'exceptions'] as const satisfies readonly NodeOrder['record'][]
/** As in the product's benchmark. */
const input = JSON.stringify({ to: 'someone@example.org', subject: 'A letter', body: 'x'.repeat(30) })

const medians = ['rate', 'serverUs', 'nodeUs', 'wal'] as const

/** Prints each figure, and returns the medians of the rounds. */
export async function measureNodes(server: Connection, { rounds = 5, tasks = 200_000 } = {}): Promise<NodeFigures[]> {
  const cases: Case[] = ([1000, 100, 'default'] as const).flatMap((size) => [1, 2].map((processes) => ({ size, processes })))
  const figures: NodeFigures[] = []
  for (const each of cases) {
    for (let round = 1; round <= rounds; round++) {
      for (const record of records) {
        const figure = await drainOnce(server, record, each, tasks)
        figures.push(figure)
        process.stderr.write(`${JSON.stringify(figure)}\n`)
      }
    }
  }
  return cases.flatMap(({ size, processes }) =>
    records.map((record) =>
      medianOf(
        figures.filter((each) => each.record === record && each.size === size && each.processes === processes),
        medians,
      ),
    ),
  )
}

async function drainOnce(
  server: Connection,
  record: NodeOrder['record'],
  { size, processes }: Case,
  tasks: number,
): Promise<NodeFigures> {
  const admin = await connect(server)
  await admin.query('drop database if exists drained with (force)')
  await admin.query('create database drained')
  await admin.end()
  const connection = { ...server, database: 'drained' }
  await fill(connection, record, tasks)
  const workers = Array.from({ length: processes }, () =>
    fork(new URL('node-worker.ts', import.meta.url), { execArgv: ['--conditions=@taskstream/source', '--no-warnings'] }),
  )
  const order: NodeOrder = { connection, record, ...(size !== 'default' && { size }) }
  const ready = workers.map((worker) => once(worker, 'message'))
  for (const worker of workers) worker.send(order)
  await Promise.all(ready)
  const counts = workers.map(() => 0)
  const reports = workers.map(
    (worker) =>
      new Promise<NodeReport>((resolve) => {
        worker.on('message', (told: number | NodeReport) => typeof told === 'object' && resolve(told))
      }),
  )
  await new Promise<void>((resolve, reject) => {
    for (const [nth, worker] of workers.entries()) {
      worker.on('message', (told: number | NodeReport) => {
        if (typeof told === 'number') counts[nth] = told
        if (counts.reduce((all, count) => all + count, 0) >= tasks) resolve()
      })
      worker.once('exit', (code) => reject(new Error(`a process ended with ${code} after ${counts[nth]} tasks`)))
    }
    for (const worker of workers) worker.send('go')
  })
  for (const worker of workers) worker.send('stop')
  const drained = await Promise.all(reports)
  const sum = (what: keyof NodeReport): number => drained.reduce((all, each) => all + each[what], 0)
  if (sum('tasks') !== tasks) throw new Error(`${record}: ${tasks} were pushed, and ${sum('tasks')} drained`)
  const ms = Math.max(...drained.map(({ ended }) => ended)) - Math.min(...drained.map(({ began }) => began))
  return {
    record,
    size,
    processes,
    rate: round(tasks / ms),
    serverUs: round(sum('serverUs') / tasks),
    nodeUs: round(sum('nodeUs') / tasks),
    wal: Math.round(sum('wal') / tasks),
  }
}

async function fill(connection: Connection, record: NodeOrder['record'], tasks: number): Promise<void> {
  const tiled = record === 'outcomes' || record === 'exceptions' ? record : undefined
  const pool = new pg.Pool({ ...connection, max: 1, ...(tiled && { options: `-c search_path=${tileSchema}` }) })
  const product = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
  await product.migrate(pgTransactions(pool))
  await pgTransactions(pool)((transaction) =>
    product.initialize(transaction, nodeTopic, { record: record === 'outcomes of the product' ? 'outcomes' : 'states' }),
  )
  const client = await pool.connect()
  const names = Array.from({ length: 1000 }, (_, at) => `customer ${at}`)
  const tiles = tiled && new Tiles({ record: tiled satisfies TaskRecord }, nodeTopic)
  if (tiled) {
    await client.query(`create schema ${tileSchema}`)
    await Tiles.create(client, { record: tiled })
  }
  for (let pushed = 0; pushed < tasks; pushed += names.length) {
    if (tiles) await tiles.push(client, names, input)
    else
      await product.push(
        client,
        nodeTopic,
        names.map((identifier) => ({ identifier, input })),
      )
  }
  await client.query('vacuum analyze')
  await client.query('checkpoint')
  client.release()
  await pool.end()
}
