/** The process of the benchmark of telemetry: measures what pushes and drains cost without it and with it, and says so as JSON. */
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

/** How many tasks are pushed, polled and completed together. */
const size = 100
/** Tasks of a turn. */
const count = 15_000
/** Tasks before them that do not count: a process is instrumented once, and makes its instruments for a topic once. */
const first = 5_000
/** Turns before the measurement. The engine compiles code well only after thousands of calls. */
const warmUp = 6

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

/** Two turns, one after the other. */
export interface Pair {
  readonly without: Costs
  readonly with: Costs
}

/** A reader that nobody asks. */
class Reader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

/** @returns what does something while the process is instrumented as that of an application; what is exported is thrown away */
function instrumentation(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const exporter = {
    export: (_: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
    shutdown: async () => {},
  }
  const tracerProvider = new BasicTracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(0.01) }),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  })
  const meterProvider = new MeterProvider({ readers: [new Reader()] })
  const propagator = new W3CTraceContextPropagator()
  return async (work) => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    try {
      using _ = instrumentTaskstream({ tracerProvider, meterProvider, propagator })
      return await work()
    } finally {
      context.disable()
    }
  }
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

async function run({ tasks, transactions }: Database, topic: string): Promise<Costs> {
  await transactions<boolean>((tx) => tasks.initialize(tx, topic))
  const batch = Array.from({ length: size }, (_, index) => ({ identifier: `id ${index}`, input: '{"a":1}' }))
  const push = async (tasksOfTurn: number): Promise<void> => {
    for (let done = 0; done < tasksOfTurn; done += size) await transactions<unknown>((tx) => tasks.push(tx, topic, batch))
  }
  await push(first)
  const pushed = measure()
  await push(count)
  const pushCost = pushed(count)
  let completed = 0
  let counted = count
  let drained: (() => Cost) | undefined
  const all = Promise.withResolvers<void>()
  await using node = new TaskNode<unknown>({
    repository: tasks,
    transactions,
    listener: {
      onComplete: ({ completion }) => {
        completed += completion.completed.length
        if (completed === first + count) all.resolve()
        if (drained || completed < first) return
        counted = first + count - completed
        const measured = measure()
        drained = () => measured(counted)
      },
    },
  })
  node.process(topic, { handler: eachTask(() => {}), size, concurrency: 4 })
  await node.start()
  await all.promise
  const drain = drained!()
  await node.stop()
  await transactions<unknown>((tx) => tasks.destroy(tx, topic))
  return { push: pushCost, drain }
}

const [place = '', turns = ''] = process.argv.slice(2)
const pool = place.startsWith('postgres') ? new pg.Pool({ connectionString: place, max: 6 }) : undefined
const database = (pool
  ? { tasks: sqlTaskRepository({ dialect: postgres(), adapter: fromPg }), transactions: pgTransactions(pool) }
  : {
      tasks: sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite }),
      transactions: sqliteTransactions(new DatabaseSync(place)),
    }) as unknown as Database
await database.tasks.migrate(database.transactions)
const instrumented = instrumentation()
const pairs: Pair[] = []
for (let turn = -warmUp; turn < Number(turns); turn++) {
  const before = turn % 2 === 0 ? await run(database, `${turn}-before`) : undefined
  const after = await instrumented(() => run(database, `${turn}-with`))
  const pair = { without: before ?? (await run(database, `${turn}-after`)), with: after }
  if (turn >= 0) pairs.push(pair)
}
process.stdout.write(JSON.stringify(pairs))
await pool?.end()
