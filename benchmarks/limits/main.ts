/**
 * Measures what limits cost: `npm run bench:limits -- [--quick]`. Jobs that do nothing are drained without a limit, under a total that is never reached, under
 * one that is, and under a rate that is never reached, in turns. It runs on PostgreSQL and on a SQLite file.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { defineJob, json } from 'taskstream'
import type { JobLimits, StreamOptions } from 'taskstream'
import { taskstream as onSqlite } from 'taskstream/node-sqlite'
import { taskstream as onPostgres } from 'taskstream/pg'
import pg from 'pg'
import { startPostgres } from '../../test/databases/postgres-server.ts'

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const count = values.quick ? 5_000 : 30_000
const rounds = values.quick ? 3 : 7
/** As many jobs are handled at a time. */
const concurrency = 24

const variants: Readonly<Record<string, JobLimits | undefined>> = {
  'without a limit': undefined,
  'a total of 1000': { total: 1_000 },
  'a total of 24': { total: 24 },
  'a rate of 1 000 000 a second': { rate: { count: 1_000_000, perMs: 1_000 } },
}

interface Drained {
  handle(job: ReturnType<typeof jobOf>, handler: () => void, options: { concurrency: number }): unknown
  prepare(job: ReturnType<typeof jobOf>): Promise<void>
  pushAll(job: ReturnType<typeof jobOf>): Promise<void>
  start(): Promise<void>
  stop(): Promise<unknown>
}

function jobOf(name: string, limits: JobLimits | undefined) {
  return defineJob(name, { input: json<number>(), ...(limits && { limits }) })
}

/** @returns jobs a second */
async function drain(
  open: (options: Pick<StreamOptions<never>, 'listener'>) => Drained,
  name: string,
  limits?: JobLimits,
): Promise<number> {
  let completed = 0
  const all = Promise.withResolvers<void>()
  const stream = open({
    listener: {
      onComplete: ({ completion }) => {
        completed += completion.completed.length
        if (completed === count) all.resolve()
      },
    },
  })
  const job = jobOf(name, limits)
  stream.handle(job, () => {}, { concurrency })
  await stream.prepare(job)
  await stream.pushAll(job)
  const begunMs = performance.now()
  await stream.start()
  await all.promise
  const rate = (count * 1_000) / (performance.now() - begunMs)
  await stream.stop()
  return rate
}

const portions = (): [number][][] =>
  Array.from({ length: count / 1_000 }, () => Array.from({ length: 1_000 }, (_, index): [number] => [index]))

async function measure(engine: string, open: Parameters<typeof drain>[0]): Promise<void> {
  const rates = new Map<string, number[]>(Object.keys(variants).map((name) => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const [index, [name, limits]] of Object.entries(variants).entries()) {
      const rate = await drain(open, `drained-${round}-${index}`, limits)
      // The first round warms up.
      if (round > 0) rates.get(name)!.push(rate)
      process.stderr.write(`${engine}, ${name}: ${Math.round(rate)} a second\n`)
    }
  }
  const bases = rates.get('without a limit')!
  for (const [name, each] of rates) {
    // Each is compared with the one of its own round, as machines are not equally busy all the time.
    const ratios = each.map((rate, round) => rate / bases[round]!)
    table.push([engine, name, Math.round(median(each)), median(ratios).toFixed(2)])
  }
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((left, right) => left - right)[Math.floor(numbers.length / 2)]!
}

const table = new Table({ head: ['engine', 'limit', 'jobs a second', 'of that without'] })

await using server = await startPostgres()
const pool = new pg.Pool({ connectionString: server.url, max: concurrency + 1 })
await measure('PostgreSQL', (options) => {
  const stream = onPostgres(pool, { ...options, listen: false })
  const pushAll: Drained['pushAll'] = async (job) => {
    for (const each of portions()) await stream.transaction((tx) => stream.pushMany(tx, job, each))
  }
  return Object.assign(stream, { pushAll }) as unknown as Drained
})
await pool.end()

const folder = mkdtempSync(join(tmpdir(), 'taskstream-limits-'))
try {
  await measure('SQLite file', (options) => {
    const stream = onSqlite(new DatabaseSync(join(folder, 'tasks.db')), options)
    const pushAll: Drained['pushAll'] = async (job) => {
      for (const each of portions()) await stream.transaction((tx) => stream.pushMany(tx, job, each))
    }
    return Object.assign(stream, { pushAll }) as unknown as Drained
  })
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(table.toString())
