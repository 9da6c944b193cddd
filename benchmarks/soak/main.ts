/**
 * `npm run soak -- [--hours 2] [--engine postgres|sqlite|mariadb] [--rate 100] [--every 10] [--chart FOLDER] [--json FILE]`: pushes at a set rate, handles and
 * purges, and samples memory, handles, sizes, dead rows and latency. The status is 1 if tasks were left over.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import type { FilterState, TaskCount } from '@taskstream/task-api'
import { startEngine } from '../../test/databases/start-engine.ts'
import { topics } from './setting.ts'
import type { Sample, WorkerSample } from './setting.ts'
import { soakChart } from './soak-chart.ts'
import { sizesOf } from './sizes.ts'

const { values } = parseArgs({
  options: {
    hours: { type: 'string', default: '2' },
    engine: { type: 'string', default: 'postgres' },
    rate: { type: 'string', default: '100' },
    every: { type: 'string', default: '10' },
    chart: { type: 'string' },
    json: { type: 'string' },
  },
})
const { engine } = values
const [hours, rate, everyMs] = [Number(values.hours), Number(values.rate), Number(values.every) * 1_000]
if (![hours, rate, everyMs].every((value) => value > 0)) throw new Error('--hours, --rate and --every must be greater than 0')
await using _server = await startEngine(engine)
const { openSubject } = await import('../../test/subject.ts')
await using subject = await openSubject()
const tasks = subject.tasks()
await subject.transactions(async (transaction) => {
  for (const { name, options } of topics) await tasks.initialize(transaction, name, options)
})
const worker = fork(new URL('worker.ts', import.meta.url), [JSON.stringify(subject.location)], {
  execArgv: ['--conditions=@taskstream/source'],
})
await once(worker, 'message')

const begunMs = performance.now()
const endMs = begunMs + hours * 3_600_000
let pushed = 0
async function produce(): Promise<void> {
  const tickMs = 100
  for (let tick = 1; performance.now() < endMs; tick++) {
    const count = Math.round((tick * rate * tickMs) / 1_000) - pushed
    const creations = Array.from({ length: Math.max(0, count) }, (_, index) => ({
      identifier: `i${(pushed + index) % 200}`,
      priority: index % 3,
      input: String(Date.now()),
    }))
    const { name } = topics[tick % topics.length]!
    if (creations.length > 0) await subject.transactions((transaction) => tasks.push(transaction, name, creations))
    pushed += creations.length
    await delay(Math.max(0, begunMs + tick * tickMs - performance.now()))
  }
}

const samples: Sample[] = []
async function sample(): Promise<void> {
  const answer = once(worker, 'message')
  worker.send('sample')
  const [{ rss, heapUsed, handles, latenciesMs, errors }] = (await answer) as [WorkerSample]
  const sorted = latenciesMs.toSorted((one, other) => one - other)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  const { tableMb, deadRows } = await sizesOf(subject)
  const minutes = (performance.now() - begunMs) / 60_000
  const seconds = (minutes - (samples.at(-1)?.minutes ?? 0)) * 60
  const [rssMb, heapMb] = [rss / 2 ** 20, heapUsed / 2 ** 20]
  samples.push({
    minutes,
    done: sorted.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    rssMb,
    heapMb,
    handles,
    tableMb,
    deadRows,
    errors,
  })
  if (values.json !== undefined) appendFileSync(values.json, `${JSON.stringify(samples.at(-1))}\n`)
  process.stderr.write(
    `${minutes.toFixed(1).padStart(7)} min  ${(sorted.length / seconds).toFixed(0)}/s, p99 ${at(0.99)} ms, ${rssMb.toFixed(0)} MiB, table ${tableMb.toFixed(1)} MiB\n`,
  )
}
async function watch(): Promise<void> {
  while (performance.now() < endMs) {
    await delay(Math.min(everyMs, Math.max(1, endMs - performance.now())))
    await sample()
  }
}
await Promise.all([produce(), watch()])

let left = Infinity
for (let tries = 0; left > 0 && tries < 300; tries++, await delay(100)) {
  const counts = await subject.transactions<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
    tasks.count(transaction),
  )
  left = [...counts.values()].reduce(
    (sum, states) => sum + [...states].reduce((open, [state, { count }]) => open + (state === 'succeeded' ? 0 : count), 0),
    0,
  )
}
worker.send('stop')
await once(worker, 'exit')

if (values.chart !== undefined) {
  mkdirSync(values.chart, { recursive: true })
  const title = `${engine}: ${rate} tasks a second for ${hours} hours`
  writeFileSync(join(values.chart, `soak-${engine}.svg`), soakChart(title, samples))
}
// The first quarter is for warming up, and until the first tasks are purged.
const [early, late] = [
  samples.slice(Math.floor(samples.length / 4), Math.floor(samples.length / 2)),
  samples.slice(Math.floor((samples.length * 3) / 4)),
]
const mean = (of: (each: Sample) => number, among: readonly Sample[]): string =>
  (among.reduce((sum, each) => sum + of(each), 0) / Math.max(1, among.length)).toFixed(1)
const table = new Table({ head: [`${engine}, ${hours} h, ${pushed} tasks`, 'second quarter', 'last quarter'] })
const rows: readonly [string, (each: Sample) => number][] = [
  ['done a second', ({ done }) => done],
  ['latency p50, ms', ({ p50Ms }) => p50Ms],
  ['latency p99, ms', ({ p99Ms }) => p99Ms],
  ['process, MiB', ({ rssMb }) => rssMb],
  ['heap, MiB', ({ heapMb }) => heapMb],
  ['handles', ({ handles }) => handles],
  ['table and indexes, MiB', ({ tableMb }) => tableMb],
  ['dead rows', ({ deadRows }) => deadRows],
]
table.push(
  ...rows.map(([name, of]) => [name, mean(of, early), mean(of, late)]),
  ['errors', '', samples.at(-1)?.errors ?? 0],
  ['left over', '', left],
)
console.log(table.toString())
process.exitCode = left > 0 ? 1 : 0
