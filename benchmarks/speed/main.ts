/**
 * `npm run bench -- [--quick] [--only NAME]… [--sync-off] [--json]`: taskstream beside pg-boss, graphile-worker and what the server can do at
 * most, on one PostgreSQL, taking turns in every round. Only ratios inside one run count. Progress goes to standard error.
 */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { startPostgres } from '../../test/databases/postgres-server.ts'
import { withDatabase } from '../hot-path/database.ts'
import { median } from '../hot-path/report.ts'
import { drain } from './drains.ts'
import { pushBatch, pushSingle, pushTen } from './pushes.ts'
import type { Scale, Scenario } from './scenario.ts'

const scenarios: readonly Scenario[] = [
  { name: 'push-single', unit: 'tasks/s', measures: pushSingle },
  { name: 'push-10', unit: 'tasks/s', measures: pushTen },
  { name: 'push-batch', unit: 'tasks/s', measures: pushBatch },
  { name: 'drain-1', unit: 'tasks/s', measures: drain(1) },
  { name: 'drain-2', unit: 'tasks/s', measures: drain(2) },
  { name: 'drain-transactional', unit: 'tasks/s', measures: drain(1, 'transactional') },
]

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    'sync-off': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const wanted = scenarios.filter(({ name }) => !values.only || values.only.includes(name))
if (wanted.length === 0) throw new Error(`--only takes one of: ${scenarios.map(({ name }) => name).join(', ')}`)
const rounds = 3
const scale: Scale = values.quick ? { singles: 3_000, batched: 50_000 } : { singles: 20_000, batched: 200_000 }

interface Row {
  readonly scenario: string
  readonly engine: string
  readonly subject: string
  readonly rounds: number
  readonly median: number
  readonly unit: string
  readonly ratioToBestPeer: number
  readonly ratioToLimit: number
}

await using server = await startPostgres({
  durable: true,
  settings: {
    shared_buffers: '1GB',
    max_wal_size: '8GB',
    ...(values['sync-off'] ? { synchronous_commit: 'off' } : {}),
  },
})
const rows: Row[] = []
for (const { name, unit, measures } of wanted) {
  const figures = new Map<string, number[]>(Object.keys(measures).map((subject) => [subject, []]))
  for (let round = 1; round <= rounds; round++) {
    for (const [subject, measure] of Object.entries(measures)) {
      process.stderr.write(`${name}, round ${round} of ${rounds}: ${subject}\n`)
      figures.get(subject)!.push(await withDatabase(server.connection, (connection) => measure(connection, scale)))
    }
  }
  const medians = new Map([...figures].map(([subject, all]) => [subject, median(all)]))
  const bestPeer = Math.max(medians.get('pg-boss') ?? 0, medians.get('graphile-worker') ?? 0)
  for (const [subject, value] of medians) {
    rows.push({
      scenario: name,
      engine: 'PostgreSQL 18',
      subject,
      rounds,
      median: value,
      unit,
      ratioToBestPeer: value / bestPeer,
      ratioToLimit: value / (medians.get('limit') ?? Number.NaN),
    })
  }
}

if (values.json) {
  const machine = { cpus: cpus().length, model: cpus()[0]?.model, node: process.versions.node, syncOff: values['sync-off'] }
  console.log(JSON.stringify({ machine, rows }))
} else {
  const table = new Table({
    head: ['scenario', 'subject', 'median', 'unit', 'x best peer', 'x limit'],
    style: { head: [], border: [] },
  })
  for (const row of rows) {
    const { scenario, subject, median: value, unit, ratioToBestPeer, ratioToLimit } = row
    table.push([scenario, subject, Math.round(value), unit, ratioToBestPeer.toFixed(2), ratioToLimit.toFixed(2)])
  }
  console.log(table.toString())
}
