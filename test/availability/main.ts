/**
 * `npm run availability -- [--setup standby|patroni|galera|pgbouncer] [--seconds 60] [--fault KIND]… [--address servers|switch] [--ttl 30]
 * [--statement-timeout 5000] [--rate 40] [--json]` runs run.ts.
 */
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { runAvailability } from './run.ts'
import type { AvailabilityReport, Happening } from './run.ts'
import { openGalera } from './setups/galera.ts'
import { openPatroni } from './setups/patroni.ts'
import type { PatroniSetupOptions } from './setups/patroni.ts'
import { openPgBouncer } from './setups/pgbouncer.ts'
import { openStandby } from './setups/standby.ts'

const { values } = parseArgs({
  options: {
    setup: { type: 'string', default: 'standby' },
    seconds: { type: 'string', default: '60' },
    fault: { type: 'string', multiple: true, default: [] },
    address: { type: 'string', default: 'servers' },
    ttl: { type: 'string', default: '30' },
    'statement-timeout': { type: 'string', default: '5000' },
    rate: { type: 'string', default: '40' },
    json: { type: 'boolean', default: false },
  },
})
if (values.address !== 'servers' && values.address !== 'switch')
  throw new Error(`--address must be servers or switch, and is ${values.address}`)
const patroni: PatroniSetupOptions = { address: values.address, ttl: Number(values.ttl) }
const setups = { standby: openStandby, patroni: () => openPatroni(patroni), galera: openGalera, pgbouncer: openPgBouncer }
if (!Object.hasOwn(setups, values.setup))
  throw new Error(`--setup must be one of ${Object.keys(setups).join(', ')}, and is ${values.setup}`)

const begunMs = performance.now()
const say = (line: string): void =>
  void process.stderr.write(`${((performance.now() - begunMs) / 1_000).toFixed(1).padStart(6)} s  ${line}\n`)
await using setup = await setups[values.setup as keyof typeof setups]()
say(setup.name)
const report = await runAvailability({
  setup,
  seconds: Number(values.seconds),
  kinds: values.fault,
  statementTimeoutMs: Number(values['statement-timeout']),
  rate: Number(values.rate),
  onProgress: say,
})
console.log(values.json ? JSON.stringify(report) : tableOf(report))
const { lost, twice, invented, wrong } = report
for (const text of wrong) process.stderr.write(`${text}\n`)
process.exitCode = lost.length + twice.length + invented.length + wrong.length > 0 ? 1 : 0

function tableOf({ setup: name, faults, pushed, lost, twice, invented, repeated }: AvailabilityReport): string {
  const table = new Table({
    head: [
      name,
      'times',
      'no push for',
      'nothing done for',
      'slowest task',
      'back in',
      'no push then',
      'producer saw',
      'nodes saw',
    ],
  })
  for (const [kind, each] of Map.groupBy(faults, (fault) => fault.kind)) {
    const backs = each.flatMap((fault) => fault.return ?? [])
    table.push([
      kind,
      each.length,
      span(each.map(({ pushGapMs }) => pushGapMs)),
      span(each.map(({ doneGapMs }) => doneGapMs)),
      span(each.map(({ slowestMs }) => slowestMs)),
      span(backs.map(({ ms }) => ms)),
      span(backs.map(({ pushGapMs }) => pushGapMs)),
      codes(each, 'producer'),
      codes(each, 'node'),
    ])
  }
  const sums = new Table()
  sums.push(
    { pushed },
    { lost: lost.length },
    { 'completed twice': twice.length },
    { invented: invented.length },
    { 'handled again': repeated },
  )
  return `${table.toString()}\n${sums.toString()}`
}

function span(ms: readonly number[]): string {
  if (ms.length === 0) return ''
  const [least, most] = [Math.min(...ms), Math.max(...ms)].map((each) => (each / 1_000).toFixed(1))
  return least === most ? `${least} s` : `${least} to ${most} s`
}

function codes(faults: readonly Happening[], who: 'producer' | 'node'): string {
  const sums = new Map<string, number>()
  for (const { errors } of faults)
    for (const [code, times] of Object.entries(errors[who])) sums.set(code, (sums.get(code) ?? 0) + times)
  return [...sums].map(([code, times]) => `${code} ${times}`).join('\n')
}
