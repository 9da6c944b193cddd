/**
 * `npm run bench:loops -- [--only mariadb|sqlite]… [--size N]… [--count N] [--rounds N] [--json]` measures pushes and drains beside plain loops
 * on a table of six columns with the index that a queue needs. Subjects take turns in every round; only ratios within one run are comparable.
 * A ratio is the median of the rounds' ratios. Progress goes to standard error.
 */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { figure } from '../speed/chart.ts'
import { median } from '../speed/statistics.ts'
import { costOf } from './cost.ts'
import type { Cost } from './cost.ts'
import { mariadbEngine } from './mariadb.ts'
import { sqliteEngine } from './sqlite.ts'
import type { Backlog, Engine } from './subject.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: ['mariadb', 'sqlite'] },
    size: { type: 'string', multiple: true, default: ['100', '1000'] },
    count: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
})
const engines: Readonly<Record<string, () => Promise<Engine> | Engine>> = { mariadb: mariadbEngine, sqlite: sqliteEngine }
const unknown = values.only.filter((name) => !(name in engines))
if (unknown.length > 0) {
  process.stderr.write(`There is no engine ${unknown.join(', ')}. --only takes: ${Object.keys(engines).join(', ')}\n`)
  process.exit(2)
}
const count = Number(values.count)
const rounds = Number(values.rounds)
const sizes = values.size.map(Number)
if (
  !Number.isInteger(count / 1000) ||
  count < 1000 ||
  ![rounds, ...sizes].every((number) => Number.isInteger(number) && number > 0)
) {
  process.stderr.write('--count takes whole thousands; --rounds and --size take whole numbers from 1\n')
  process.exit(2)
}

interface Row {
  readonly engine: string
  readonly what: string
  readonly subject: string
  readonly rate: number
  readonly processUs: number
  readonly serverUs: number
  /** The rate of taskstream, relative to this subject's. */
  readonly ratio: number
}

const rows: Row[] = []
for (const name of values.only) {
  await using engine = await engines[name]!()
  for (const size of sizes) rows.push(...(await measure(engine, size)))
}

if (values.json) {
  const machine = { cpus: cpus().length, model: cpus()[0]?.model, node: process.versions.node }
  console.log(JSON.stringify({ machine, count, rounds, rows }))
} else {
  const head = ['engine', '', 'subject', 'tasks/s', 'Node µs a task', 'server µs a task', 'taskstream ×']
  const table = new Table({ head, style: { head: [], border: [] } })
  for (const { engine, what, subject, rate, processUs, serverUs, ratio } of rows)
    table.push([engine, what, subject, figure(rate), processUs.toFixed(1), serverUs.toFixed(1), ratio.toFixed(2)])
  console.log(table.toString())
}

async function measure(engine: Engine, size: number): Promise<Row[]> {
  const drains = `drain, ${size} at a time`
  const costs: Record<string, Record<string, Cost[]>> = { push: {}, [drains]: {} }
  const costsOf = (what: string, subject: string): Cost[] => ((costs[what] ??= {})[subject] ??= [])
  for (let round = 0; round <= rounds; round++) {
    const turns = Object.entries(engine.subjects)
    for (const [subject, open] of round % 2 === 0 ? turns : turns.toReversed()) {
      await using backlog: Backlog = await open()
      const push = await costOf(count, engine.pid, () => backlog.push(count))
      const drain = await costOf(count, engine.pid, () => backlog.drain(count, size))
      // The first round only warms up.
      if (round === 0) continue
      costsOf('push', subject).push(push)
      costsOf(drains, subject).push(drain)
      process.stderr.write(`${engine.name}, ${drains}, round ${round} of ${rounds}: ${subject}, ${figure(drain.rate)}/s\n`)
    }
  }
  return Object.entries(costs).flatMap(([what, bySubject]) =>
    Object.entries(bySubject)
      .toSorted(([left], [right]) => Number(left !== 'taskstream') - Number(right !== 'taskstream'))
      .map(([subject, measured]) => ({
        engine: engine.name,
        what,
        subject,
        rate: median(measured.map(({ rate }) => rate)),
        processUs: median(measured.map((cost) => cost.process)),
        serverUs: median(measured.map(({ server }) => server)),
        ratio: median(measured.map(({ rate }, round) => bySubject['taskstream']![round]!.rate / rate)),
      })),
  )
}
