/** What telemetry promises apart from any database. */
import { channel, tracingChannel } from 'node:diagnostics_channel'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { taskChannels } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import type { BatchHandler } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, sqlite } from '@taskstream/task-sql/better-sqlite3'
import { fromMysql2 } from '@taskstream/task-sql/mysql2'
import { fromPg } from '@taskstream/task-sql/pg'
import type { SqlAdapter } from '@taskstream/task-sql'
import { instrumentTaskstream } from '@taskstream/task-telemetry'
import { taskFields } from '@taskstream/task-telemetry/logs'
import type { TaskFields } from '@taskstream/task-telemetry/logs'
import { contentTypes, formatOf, prometheusMetrics } from '@taskstream/task-telemetry/prometheus'
import { testTasks } from '@taskstream/task-testing'
import { expect, test } from 'vitest'
import {
  database,
  errorType,
  formerSystem,
  messaging,
  systemAttributes,
} from '../../packages/task-telemetry/src/core/conventions.ts'
import { allMetrics, prometheusName } from '../../packages/task-telemetry/src/metrics/definitions.ts'
import { hasPromtool, promtool, withoutPromtool } from '../promtool.ts'
import { samplesOf } from './prometheus-text.ts'

/** A reader that collects when it is asked to. */
class Reader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

/** Tells of a push, as a repository does. */
function push(topic: string, fails?: Error): void {
  const call = { verb: 'push', topic, owner: 'me', args: [topic, ['a']] }
  const work = (): unknown => {
    if (fails) throw fails
    return [{ topic, sequence: 1, identifier: 'a', outcome: 'created' }]
  }
  try {
    tracingChannel(taskChannels.push).traceSync(work, call)
  } catch (error) {
    if (error !== fails) throw error
  }
}

test('every name of the conventions is one of the package that has them', () => {
  const known = new Set<unknown>(Object.values(conventions))
  for (const name of [...Object.values(messaging), ...Object.values(database), errorType, formerSystem])
    expect(known).toContain(name)
  for (const { name, ofMessaging } of allMetrics) if (ofMessaging) expect(known).toContain(name)
})

test('backends that look for the former name of the system get both, where they are asked for', () => {
  expect(systemAttributes('')).toEqual({ 'messaging.system.name': 'taskstream' })
  expect(systemAttributes('http, messaging/dup')).toEqual({
    'messaging.system.name': 'taskstream',
    'messaging.system': 'taskstream',
  })
})

test('ten thousand topics make no more series than two hundred and one, and as many errors no more than fifty and one', async () => {
  using metrics = prometheusMetrics()
  for (let topic = 0; topic < 10_000; topic++) push(`topic ${topic}`)
  const sent = samplesOf(await metrics.collect()).filter(({ name }) => name === 'messaging_client_sent_messages_total')
  expect(sent).toHaveLength(201)
  const other = sent.find(({ labels }) => labels['messaging_destination_name'] === '_other')
  expect(other?.value).toBe(9_800)
  for (let type = 0; type < 1_000; type++) push('topic 0', Object.assign(new Error('no'), { name: `Error${type}` }))
  const failed = samplesOf(await metrics.collect()).filter(
    ({ name, labels }) => name === 'messaging_client_sent_messages_total' && labels['error_type'] !== undefined,
  )
  expect(failed).toHaveLength(51)
  expect(failed.find(({ labels }) => labels['error_type'] === '_OTHER')?.value).toBe(950)
})

test('topics may be told of by other names', async () => {
  using metrics = prometheusMetrics({ topics: (topic) => topic.replace(/ of .*/, '') })
  push('mail of kari')
  push('mail of ola')
  expect(samplesOf(await metrics.collect()).find(({ name }) => name === 'messaging_client_sent_messages_total')).toMatchObject({
    labels: { messaging_destination_name: 'mail' },
    value: 2,
  })
})

test('names of topics that are no plain words are read back as they are', async () => {
  using metrics = prometheusMetrics()
  const names = ['a"b', String.raw`a\b`, 'a\nb', 'ö ✓', '{a="b"}']
  for (const name of names) push(name)
  for (const format of ['text', 'openmetrics'] as const) {
    const found = samplesOf(await metrics.collect(format)).filter(({ name }) => name === 'messaging_client_sent_messages_total')
    expect(found.map(({ labels }) => labels['messaging_destination_name'])).toEqual(names)
  }
})

test('a scrape is answered in the format that it asks for', async () => {
  using metrics = prometheusMetrics()
  push('a')
  const ask = (accept: string): Promise<Response> =>
    metrics.answer(new Request('http://localhost/metrics', { headers: { accept } }))
  const open = await ask('application/openmetrics-text;version=1.0.0,text/plain;q=0.5')
  expect(open.headers.get('content-type')).toBe(contentTypes.openmetrics)
  const text = await open.text()
  expect(text).toMatch(/# TYPE messaging_client_sent_messages counter\nmessaging_client_sent_messages_total\{/)
  expect(text).toMatch(/# EOF\n$/)
  expect((await ask('text/plain')).headers.get('content-type')).toBe(contentTypes.text)
  expect(formatOf(undefined)).toBe('text')
})

test('a database that cannot be read makes no scrape fail', async () => {
  const refuse = (): never => {
    throw new Error('refused')
  }
  using metrics = prometheusMetrics({ fleet: { tasks: {} as never, transactions: refuse as never } })
  const samples = samplesOf(await metrics.collect())
  expect(samples.filter(({ name }) => name.startsWith('taskstream_fleet'))).toMatchObject([{ value: 0 }])
})

test.skipIf(withoutPromtool)('promtool finds no fault in the text', async () => {
  expect(hasPromtool).toBe(true)
  using metrics = prometheusMetrics()
  push('a"b')
  push('b', new RangeError('no'))
  channel('taskstream:onBlocked').publish({ blockedMs: 300, batches: [] })
  expect(promtool(['check', 'metrics'], await metrics.collect())).toBe('')
})

test('what nobody hears any more is not counted', async () => {
  const metrics = prometheusMetrics()
  metrics[Symbol.dispose]()
  push('a')
  expect(await metrics.collect()).not.toContain('messaging_client_sent_messages_total{')
})

test('what is counted is told whenever metrics are collected, and once more when telemetry ends', async () => {
  const reader = new Reader()
  const instrumented = instrumentTaskstream({ meterProvider: new MeterProvider({ readers: [reader] }) })
  const sent = async (): Promise<unknown> => {
    const { resourceMetrics } = await reader.collect()
    const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
    return all.find(({ descriptor }) => descriptor.name === 'messaging.client.sent.messages')?.dataPoints[0]?.value
  }
  push('a')
  push('a')
  expect(await sent()).toBe(2)
  push('a')
  expect(await sent()).toBe(3)
  push('a')
  instrumented[Symbol.dispose]()
  push('a')
  expect(await sent()).toBe(4)
})

test('drivers tell where their server is, and nothing if they do not know', () => {
  expect(fromPg.serverOf?.({ host: 'db-1', port: 5433 } as never)).toEqual({ address: 'db-1', port: 5433 })
  expect(fromPg.serverOf?.({ host: '/run/postgresql', port: 5432 } as never)).toEqual({ address: '/run/postgresql' })
  expect(fromPg.serverOf?.({} as never)).toBeUndefined()
  const mysql = (config?: object): unknown => fromMysql2.serverOf?.({ connection: { config } } as never)
  expect(mysql({ host: 'db-1', port: 3307 })).toEqual({ address: 'db-1', port: 3307 })
  expect(mysql({ host: 'localhost', port: 3306, socketPath: '/run/mysqld/mysqld.sock' })).toEqual({
    address: '/run/mysqld/mysqld.sock',
  })
  expect(mysql()).toBeUndefined()
  expect(fromMysql2.serverOf?.({} as never)).toBeUndefined()
})

test('an option that is none is refused by its name', () => {
  const withDatabase = (database: object) => (): unknown => instrumentTaskstream({ database })
  expect(withDatabase({ host: 'db-1' })).toThrow(/host is no option of database/)
  expect(withDatabase({ port: 5432 })).toThrow(/database.port .*must stand beside an address/)
  expect(withDatabase({ address: 'db-1', port: 0 })).toThrow(/database.port/)
  expect(() => instrumentTaskstream({ relations: 'child' } as never)).toThrow(/relations is no option of instrumentTaskstream/)
  expect(() => prometheusMetrics({ topic: 1 } as never)).toThrow(/topic is no option of prometheusMetrics/)
  const withFleet = (fleet: object) => (): unknown =>
    prometheusMetrics({ fleet: { tasks: {}, transactions: () => {}, ...fleet } as never })
  expect(withFleet({ examined: true })).toThrow(/examined is no option of fleet/)
  expect(withFleet({ examine: true })).toThrow(/fleet.examine .*must be a function/)
  expect(withFleet({ limit: 0 })).toThrow(/fleet.limit/)
  expect(withFleet({ tasks: undefined })).toThrow(/fleet.tasks .*must be a repository/)
  expect(withFleet({ transactions: {} })).toThrow(/fleet.transactions .*must be a transaction source/)
})

test('what is not sampled runs the same statements as without telemetry', async () => {
  const { default: Database } = await import('better-sqlite3')
  const run = async (): Promise<string[]> => {
    const database = new Database(':memory:')
    const texts: string[] = []
    const adapter: SqlAdapter<unknown, 'sync'> = {
      execution: 'sync',
      execute: (transaction, statement, plan) => {
        texts.push(JSON.stringify(statement))
        return fromBetterSqlite3.execute(transaction as never, statement, plan)
      },
    }
    const tasks = sqlTaskRepository({ dialect: sqlite(), adapter, owner: 'me', clock: () => new Date(0) })
    await tasks.migrate((async (work: (transaction: unknown) => unknown) => await work(database)) as never)
    texts.splice(0)
    tasks.register(database)
    tasks.initialize(database, 'a')
    tasks.push(database, 'a', ['one', { identifier: 'two', headers: { n: 1 } }])
    const held = tasks.poll(database, 'a', { size: 2 })
    tasks.handBack(database, 'a', held)
    database.close()
    return texts.map((text) => text.replaceAll(/me:[\da-f]{12}/g, 'me'))
  }
  const plain = await run()
  using _instrumented = instrumentTaskstream()
  expect(await run()).toEqual(plain)
  expect(plain.length).toBeGreaterThan(4)
})

test('a line of a log says which task it is about, of several that are handled side by side, too', async () => {
  await using tasks = await testTasks({ topics: ['a'] })
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await tasks.push('a', 'one', { identifier: 'two', headers: { traceparent: trace } })
  const lines: TaskFields[] = []
  const log = async (): Promise<void> => {
    await Promise.resolve()
    lines.push(taskFields())
  }
  const each = eachTask<unknown>(log, { concurrency: 2 })
  const seen: HeldTask[] = []
  const handler: BatchHandler<unknown> = (batch, context) => {
    lines.push(taskFields())
    seen.push(...batch)
    return each(batch, context)
  }
  await tasks.drain('a', handler, { size: 2 })
  const [one, two] = seen
  expect(lines).toEqual([
    { topic: 'a' },
    { topic: 'a', sequence: one!.sequence, identifier: 'one', attempt: 1 },
    { topic: 'a', sequence: two!.sequence, identifier: 'two', attempt: 1, trace_id: '0af7651916cd43dd8448eb211c80319c' },
  ])
  expect(taskFields()).toEqual({})
})

test('no two metrics have one name, in Prometheus either', () => {
  const names = allMetrics.map(prometheusName)
  expect(new Set(names).size).toBe(names.length)
})
