/**
 * `npm run bench:pressure -- [--only SCENARIO]… [--systems NAME]… [--seconds 6] [--rate 200] [--leases] [--json FILE]` disturbs taskstream, pg-boss and
 * graphile-worker while jobs are pushed at a set rate, of a hundred or of five thousand a second. It kills what may die, and puts on pressure. Progress goes to standard error. The packages are
 * built first: a worker that has to strip types starts later, and how soon it starts is a part of what is measured.
 */
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { startPostgres } from '../../test/databases/postgres-server.ts'
import { measureCell } from './cell.ts'
import type { Cell, Plan } from './cell.ts'
import { chaos } from './chaos.ts'
import { pressures } from './pressures.ts'
import { leaseTable, table } from './report.ts'
import type { Lease } from './system.ts'
import { systemNames } from './systems.ts'
import type { SystemName } from './systems.ts'

const scenarios = { ...chaos, ...pressures }
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    systems: { type: 'string', multiple: true, default: [] },
    seconds: { type: 'string', default: '6' },
    rate: { type: 'string', default: '200' },
    leases: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
})
check('scenario', values.only, Object.keys(scenarios))
check('system', values.systems, systemNames)
const ms = Number(values.seconds) * 1_000
const rate = Number(values.rate)
if (!(ms >= 2_000) || !(rate >= 10)) refuse('--seconds takes at least 2, and --rate at least 10')

/** The lease of the comparison. Processes that do not pause for seconds can have it. */
const short: Lease = { leaseMs: 3_000, heartbeatIntervalMs: 1_000 }
const leases: readonly Lease[] = [
  { leaseMs: 30_000, heartbeatIntervalMs: 5_000 },
  { leaseMs: 10_000, heartbeatIntervalMs: 2_000 },
  short,
  { leaseMs: 1_000, heartbeatIntervalMs: 300 },
  { leaseMs: 30_000, heartbeatIntervalMs: 5_000, exclusive: true },
]

// Room for every system, and few enough that foreign clients take the rest at once. Autovacuum comes often, as phases are short.
const settings = { max_connections: '100', autovacuum_naptime: '1s', shared_buffers: '256MB' }
await using server = await startPostgres({ durable: true, settings })
const cells: Cell[] = []
for (const plan of values.leases ? leasePlans() : plans()) {
  process.stderr.write(`${plan.scenario}, ${plan.system}, lease ${plan.lease.leaseMs} ms\n`)
  cells.push(await measureCell(server, plan))
}
if (values.json) {
  const machine = { cpus: cpus().length, model: cpus()[0]?.model, node: process.versions.node }
  writeFileSync(values.json, JSON.stringify({ machine, seconds: ms / 1_000, rate, cells }, undefined, 1))
}
console.log(values.leases ? leaseTable(cells) : table(cells))

/** Systems take turns in each scenario, because the machine is not equally busy all the time. */
function* plans(): Generator<Plan> {
  for (const [scenario, fault] of Object.entries(scenarios)) {
    if (values.only.length > 0 && !values.only.includes(scenario)) continue
    for (const system of chosen()) yield { scenario, fault, system, lease: short, ms, rate, settleMs: 20_000 }
  }
}

/** Only kills of one of two workers show what a lease costs. */
function* leasePlans(): Generator<Plan> {
  const scenario = 'worker-kills'
  const common = { scenario, fault: chaos[scenario]!, ms, rate }
  for (const lease of leases) yield { ...common, system: 'taskstream', lease, settleMs: 2 * lease.leaseMs + 10_000 }
  yield { ...common, system: 'taskstream, transactional', lease: leases[0]!, settleMs: 70_000 }
}

function chosen(): readonly SystemName[] {
  return systemNames.filter((name) => values.systems.length === 0 || values.systems.includes(name))
}

function check(kind: string, given: readonly string[], known: readonly string[]): void {
  const unknown = given.filter((name) => !known.includes(name))
  if (unknown.length > 0) refuse(`There is no ${kind} ${unknown.join(', ')}. There are: ${known.join('; ')}`)
}

function refuse(text: string): never {
  process.stderr.write(`${text}\n`)
  process.exit(2)
}
