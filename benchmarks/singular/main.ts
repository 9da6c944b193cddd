/**
 * Measures the cost of a singular condition: `npm run bench:singular -- [--quick] [--drains] [--engine postgres]`. There are empty polls over many
 * blocked tasks, and drains with few and with many identifiers beside a topic without a condition. With `--drains` there are only those. It runs on
 * PostgreSQL and on a SQLite file.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TopicOptions } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import Table from 'cli-table3'
import pg from 'pg'
import { startPostgres } from '../../test/databases/postgres-server.ts'
import { drain, initialize, pushAll } from './drains.ts'
import type { Subject } from './drains.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    drains: { type: 'boolean', default: false },
    engine: { type: 'string' },
  },
})
const blocked = values.quick ? 50_000 : 500_000
const drained = values.quick ? 10_000 : 50_000

const singular = { condition: 'singular-by-identifier' } as const
const table = new Table({ head: ['', 'engine', 'median', 'most', 'unit'] })
const drains = new Table({ head: ['drain', 'engine', 'tasks/s', 'µs, process', 'µs, server'] })
const say = (line: string): void => void process.stderr.write(`${line}\n`)

const poll = (subject: Subject, topic: string, size: number): Promise<HeldTask[]> =>
  subject.transactions<HeldTask[]>((transaction) => subject.tasks.poll(transaction, topic, { size }))

/** Polls until polls find nothing and tidy nothing any more, then measures such polls. */
async function emptyPolls(subject: Subject, name: string, topic: string): Promise<void> {
  const start = performance.now()
  let polls = 0
  for (let fast = 0; fast < 5; polls++) {
    const before = performance.now()
    if ((await poll(subject, topic, 100)).length > 0) continue
    fast = performance.now() - before < 5 ? fast + 1 : 0
    if (performance.now() - start > 300_000) break
  }
  say(`  ${subject.name}: blocked tasks were off the list after ${polls} polls, ${Math.round(performance.now() - start)} ms`)
  const times: number[] = []
  for (let index = 0; index < 200; index++) {
    const before = performance.now()
    await poll(subject, topic, 100)
    times.push(performance.now() - before)
  }
  const sorted = times.toSorted((left, right) => left - right)
  table.push([name, subject.name, sorted[100]!.toFixed(2), sorted.at(-1)!.toFixed(2), 'ms a poll'])
}

async function measureDrain(
  subject: Subject,
  name: string,
  options: TopicOptions,
  identifiers: number,
  count: number,
): Promise<void> {
  say(`${subject.name}: drain, ${name}`)
  const topic = `drain ${name}`
  await initialize(subject, topic, options)
  await pushAll(subject, topic, count, (index) => `i${index % identifiers}`)
  const { perSecond, processUs, serverUs } = await drain(subject, topic, count)
  const server = serverUs === undefined ? '' : ` ${serverUs.toFixed(0)}`
  drains.push([name, subject.name, Math.round(perSecond), processUs.toFixed(0), server])
}

async function measure(subject: Subject): Promise<void> {
  await subject.tasks.migrate(subject.transactions)
  await subject.transactions((transaction) => subject.tasks.register(transaction))
  if (!values.drains) await measureBlocked(subject)
  if (!values.drains) await measureDrain(subject, 'no condition', {}, drained, drained)
  for (const identifiers of [1, 1_000, 10_000, 100_000]) {
    const count = identifiers === 1 ? drained / 25 : Math.max(identifiers, drained)
    await measureDrain(subject, `singular, ${identifiers} identifiers`, singular, identifiers, count)
  }
}

async function measureBlocked(subject: Subject): Promise<void> {
  say(`${subject.name}: ${blocked} tasks behind one`)
  await initialize(subject, 'one', singular)
  await pushAll(subject, 'one', blocked, () => 'same')
  await emptyPolls(subject, `empty poll, ${blocked} tasks behind one that is active`, 'one')
  say(`${subject.name}: ${blocked / 2} tasks, each behind a failed one`)
  await initialize(subject, 'each', { condition: 'singular-by-identifier-suspend-on-failure' })
  await pushAll(subject, 'each', blocked, (index) => `i${index % (blocked / 2)}`)
  for (;;) {
    const held = await poll(subject, 'each', 5_000)
    if (held.length === 0) break
    const decisions = new Map(held.map((task) => [task, TaskDecision.failure()]))
    await subject.transactions((transaction) => subject.tasks.complete(transaction, 'each', decisions))
  }
  await emptyPolls(subject, `empty poll, ${blocked / 2} tasks each behind a failed one`, 'each')
}

if (values.engine !== 'sqlite') {
  await using server = await startPostgres({
    durable: true,
    settings: { synchronous_commit: 'off', shared_buffers: '1GB', max_wal_size: '8GB' },
  })
  const pool = new pg.Pool({ ...server.connection, max: 4 })
  const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
  await measure({ name: 'PostgreSQL 18', tasks, transactions: pgTransactions(pool), pid: server.pid } as unknown as Subject)
  await pool.end()
}
if (values.engine !== 'postgres') {
  const folder = mkdtempSync(join(tmpdir(), 'taskstream-bench-'))
  const database = await openBetterSqlite3(join(folder, 'tasks.db'), { synchronous: 'normal' })
  const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
  await measure({ name: 'SQLite', tasks, transactions: sqliteTransactions(database) } as unknown as Subject)
  database.close()
  rmSync(folder, { recursive: true, force: true })
}
if (table.length > 0) console.log(table.toString())
console.log(drains.toString())
