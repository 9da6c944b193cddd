/**
 * `npm run bench -- [--quick] [--only NAME]… [--sync-off] [--json] [--list] [--chart FOLDER] [--redis URL]` measures taskstream
 * beside pg-boss, graphile-worker and the server's limit. They take turns in every round on one PostgreSQL; there are also
 * figures for a SQLite file. Only ratios within one run are comparable. Progress goes to standard error.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { startPostgres } from '../../test/databases/postgres-server.ts'
import type { PostgresServer } from '../../test/databases/postgres-server.ts'
import { withBullMq } from './bullmq.ts'
import { chart, figure } from './chart.ts'
import { curveChart } from './curve-chart.ts'
import { connect } from './database.ts'
import { measure } from './measure.ts'
import type { Row } from './rows.ts'
import type { Scale, Scenario } from './scenario.ts'
import { groups } from './scenarios.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    'sync-off': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    chart: { type: 'string' },
    redis: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
})
const scenarios = Object.values(groups).flat()
const names = scenarios.map(({ name }) => name)
const unknown = values.only.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`There is no scenario ${unknown.join(', ')}. --only takes: ${names.join(', ')}\n`)
  process.exit(2)
}
if (values.list) {
  console.log(names.join('\n'))
  process.exit()
}

const full: Scale = {
  singles: 20_000,
  batched: 200_000,
  drained: 100_000,
  beside: 200_000,
  samples: 1_000,
  history: 10_000_000,
  backlog: 10_000_000,
  watched: 10_000_000,
  blocked: 500_000,
  serial: 3_000,
  manyIdentifiers: 200_000,
  payloadBytes: 200_000_000,
}
const quick: Scale = {
  singles: 3_000,
  batched: 50_000,
  drained: 20_000,
  beside: 100_000,
  samples: 100,
  history: 1_000_000,
  backlog: 1_000_000,
  watched: 100_000,
  blocked: 50_000,
  serial: 300,
  manyIdentifiers: 100_000,
  payloadBytes: 25_000_000,
}

/** 1 GiB in pages of 8 KiB. */
const bufferPages = 131_072

await using started = new AsyncDisposableStack()
let running: PostgresServer | undefined
const rows: Row[] = []
if (values.chart) mkdirSync(values.chart, { recursive: true })
const measurable = values.redis ? await withBullMq(groups, values.redis) : groups
for (const [group, members] of Object.entries(measurable)) {
  const measured: Row[] = []
  const chosen = members.filter(({ name }) => values.only.length === 0 || values.only.includes(name))
  const besides = (scenario: Scenario): readonly Scenario[] => chosen.filter(({ beside }) => beside === scenario.name)
  for (const scenario of chosen.filter((each) => !chosen.some((other) => besides(other).includes(each))))
    measured.push(...(await measure([scenario, ...besides(scenario)], server, values.quick ? quick : full)))
  rows.push(...measured)
  if (values.chart && measured.length > 0)
    writeFileSync(join(values.chart, `${group}.svg`), (group === 'curves' ? curveChart : chart)(group, measured))
}

if (values.json) {
  const machine = { cpus: cpus().length, model: cpus()[0]?.model, node: process.versions.node, syncOff: values['sync-off'] }
  console.log(JSON.stringify({ machine, rows }))
} else {
  const head = ['scenario', 'engine', 'subject', 'median', 'unit', 'x best peer', 'x limit']
  const table = new Table({ head, style: { head: [], border: [] } })
  for (const { scenario, engine, subject, median, unit, ratioToBestPeer, ratioToLimit } of rows) {
    const ratios = [ratioToBestPeer, ratioToLimit].map((ratio) => ratio?.toFixed(2) ?? '')
    table.push([scenario, engine, subject, figure(median), unit, ...ratios])
  }
  console.log(table.toString())
}

/** Starts one server for the whole run when it is first needed. */
async function server(): Promise<PostgresServer['connection']> {
  if (running) return running.connection
  running = started.use(
    await startPostgres({
      durable: true,
      settings: {
        shared_buffers: `${bufferPages * 8}kB`,
        max_wal_size: '8GB',
        ...(values['sync-off'] ? { synchronous_commit: 'off' } : {}),
      },
    }),
  )
  await touchBuffers(running.connection)
  return running.connection
}

/** Touches every buffer once, as a server that has run for a while has done. Before that a buffer has no memory from the system. */
async function touchBuffers(connection: PostgresServer['connection']): Promise<void> {
  const client = await connect(connection)
  await client.query('create unlogged table touched (page text)')
  await client.query('alter table touched alter column page set storage plain')
  await client.query(`insert into touched select repeat('x', 8000) from generate_series(1, $1::int)`, [bufferPages])
  await client.query('drop table touched')
  await client.query('checkpoint')
  await client.end()
}
