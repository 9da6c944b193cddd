/** One process of the benchmark of telemetry: measures what pushes and drains cost, and says so as JSON. */
import { DatabaseSync } from 'node:sqlite'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import type { TransactionSource } from '@taskstream/task-api'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { fromNodeSqlite, sqlite, sqliteTransactions } from '@taskstream/task-sql/node-sqlite'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import { instrumentTaskstream } from '@taskstream/task-telemetry'
import pg from 'pg'

const size = 100
/** Tasks before the measurement, as the first ones run code that is not compiled. Of two hundred pushes two are sampled. */
const warmUp = 20_000

interface Database {
  readonly tasks: SqlTaskRepository<unknown>
  readonly transactions: TransactionSource<unknown>
}

/** What a task costs, in microseconds. */
interface Cost {
  /** Of this process's processor. */
  readonly cpu: number
  /** By the clock, to which the server, the disk and other processes add theirs. */
  readonly clock: number
}

interface Costs {
  readonly push: Cost
  readonly drain: Cost
}

/** A reader that nobody asks. */
class Reader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

/** Instruments this process as an application would, but what is exported is thrown away. */
function instrument(): void {
  const exporter = {
    export: (_: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
    shutdown: async () => {},
  }
  const tracerProvider = new BasicTracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(0.01) }),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const meterProvider = new MeterProvider({ readers: [new Reader()] })
  instrumentTaskstream({ tracerProvider, meterProvider, propagator: new W3CTraceContextPropagator() })
}

/** Begins to measure. @returns what ends that, and says what each of so many tasks has cost */
function measure(): (count: number) => Cost {
  const before = process.cpuUsage()
  const beforeMs = performance.now()
  return (count) => {
    const clockMs = performance.now() - beforeMs
    const { user, system } = process.cpuUsage(before)
    return { cpu: (user + system) / count, clock: (clockMs * 1_000) / count }
  }
}

async function run({ tasks, transactions }: Database, topic: string, count: number): Promise<Costs> {
  await transactions<boolean>((tx) => tasks.initialize(tx, topic))
  const batch = Array.from({ length: size }, (_, index) => ({ identifier: `id ${index}`, input: '{"a":1}' }))
  const pushed = measure()
  for (let done = 0; done < count; done += size) await transactions<unknown>((tx) => tasks.push(tx, topic, batch))
  const push = pushed(count)
  let completed = 0
  const all = Promise.withResolvers<void>()
  await using node = new TaskNode<unknown>({
    repository: tasks,
    transactions,
    listener: {
      onComplete: ({ completion }) => {
        if ((completed += completion.completed.length) === count) all.resolve()
      },
    },
  })
  node.process(topic, { handler: eachTask(() => {}), size, concurrency: 4 })
  const drained = measure()
  await node.start()
  await all.promise
  const drain = drained(count)
  await node.stop()
  await transactions<unknown>((tx) => tasks.destroy(tx, topic))
  return { push, drain }
}

const [place = '', mode, counted = ''] = process.argv.slice(2)
const isPostgres = place.startsWith('postgres')
const pool = isPostgres ? new pg.Pool({ connectionString: place, max: 6 }) : undefined
const database = (pool
  ? { tasks: sqlTaskRepository({ dialect: postgres(), adapter: fromPg }), transactions: pgTransactions(pool) }
  : {
      tasks: sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite }),
      transactions: sqliteTransactions(new DatabaseSync(place)),
    }) as unknown as Database
await database.tasks.migrate(database.transactions)
if (mode === 'instrumented') instrument()
const topic = `${mode}-${process.pid}`
await run(database, `${topic}-before`, warmUp)
process.stdout.write(JSON.stringify(await run(database, topic, Number(counted))))
await pool?.end()
