/**
 * `npm run bench -- [--quick | --size NAME] [--minutes N] [--only NAME]… [--sync-off] [--json] [--list] [--chart FOLDER]` measures taskstream beside pg-boss,
 * graphile-worker, BullMQ and the server's limit. They take turns in every round. A scenario has rounds until its ratio is steady, or
 * its part of the time is over. Only ratios within one run are comparable. Progress goes to standard error.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { PostgresServer } from '../../test/databases/postgres-server.ts'
import { absentPeers } from './absent.ts'
import { chart } from './chart.ts'
import { curveChart } from './curve-chart.ts'
import { measure } from './measure.ts'
import { startServer } from './postgres.ts'
import { absentBecause, RedisServers } from './redis-servers.ts'
import { notesOn, tableOf } from './report.ts'
import type { Row } from './rows.ts'
import { minutesOf, scales } from './scales.ts'
import type { Size } from './scales.ts'
import type { Scenario } from './scenario.ts'
import { groups } from './scenarios.ts'
import { nextShareMs } from './stopping.ts'
import { about, isRedis } from './subjects.ts'
import { versions } from './versions.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    size: { type: 'string' },
    minutes: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
    'sync-off': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    chart: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
})
const names = Object.values(groups)
  .flat()
  .map(({ name }) => name)
const unknown = values.only.filter((name) => !names.includes(name))
if (unknown.length > 0) refuse(`There is no scenario ${unknown.join(', ')}. --only takes: ${names.join(', ')}`)
const size = (values.size ?? (values.quick ? 'quick' : 'full')) as Size
if (!(size in scales)) refuse(`There is no size ${size}. --size takes: ${Object.keys(scales).join(', ')}`)
const minutes = Number(values.minutes ?? minutesOf[size])
if (!(minutes > 0)) refuse('--minutes takes a number above 0')
if (values.list) {
  console.log(names.join('\n'))
  process.exit()
}

const started = performance.now()
const limitMs = minutes * 60_000
const say = (line: string): void =>
  void process.stderr.write(`[${clock(performance.now() - started)} of ${clock(limitMs)}] ${line}\n`)
await using opened = new AsyncDisposableStack()
const redis = opened.use(new RedisServers())
let running: PostgresServer | undefined
const around = {
  server: async () => (running ??= opened.use(await startServer(values['sync-off']))).connection,
  redis: redis.get,
  scale: scales[size],
  takesPart: absentBecause() ? (subject: string) => !isRedis(subject) : () => true,
  say,
}

const isChosen = ({ name, isLong }: Scenario): boolean =>
  values.only.length > 0 ? values.only.includes(name) : size !== 'quick' || isLong !== true
/** Scenarios that are compared take turns, and so make one turn of the run. */
const turns = Object.entries(groups).flatMap(([group, members]) => {
  const chosen = members.filter(isChosen)
  const besides = (scenario: Scenario): Scenario[] => chosen.filter(({ beside }) => beside === scenario.name)
  return chosen
    .filter((each) => !chosen.some((other) => besides(other).includes(each)))
    .map((scenario) => ({ group, scenarios: [scenario, ...besides(scenario)] }))
})
const weights = turns.map(({ scenarios }) => scenarios.reduce((sum, { weight = 1 }) => sum + weight, 0))

/** What would begin later would end far beyond the time: a first round is always run. */
const fewestMs = 10_000

const measured = new Map<string, Row[]>()
const leftOut = absentPeers()
const long = Object.values(groups)
  .flat()
  .filter((scenario) => values.only.length === 0 && !isChosen(scenario))
if (long.length > 0) leftOut.push(`${long.map(({ name }) => name).join(', ')}, since the run is quick`)
for (const [index, { group, scenarios }] of turns.entries()) {
  const remainingMs = limitMs - (performance.now() - started)
  const what = scenarios.map(({ name }) => name).join(' and ')
  if (remainingMs < fewestMs) {
    leftOut.push(`${what}, since the ${minutes} minutes were over`)
    continue
  }
  const shareMs = nextShareMs(weights.slice(index), remainingMs)
  say(`${what} begins, ${index + 1} of ${turns.length}, with ${clock(shareMs)}`)
  measured.set(group, [...(measured.get(group) ?? []), ...(await measure(scenarios, shareMs, around))])
}

const rows = [...measured.values()].flat()
if (values.chart) {
  mkdirSync(values.chart, { recursive: true })
  for (const [group, members] of measured)
    writeFileSync(join(values.chart, `${group}.svg`), (group === 'curves' ? curveChart : chart)(group, members))
}
if (values.json) {
  const machine = { cpus: cpus().length, model: cpus()[0]?.model, node: process.versions.node, syncOff: values['sync-off'] }
  const seconds = (performance.now() - started) / 1000
  const date = new Date().toISOString().slice(0, 10)
  const run = { date, machine, versions: versions(), size, minutes, seconds, subjects: about, only: values.only, leftOut, rows }
  console.log(JSON.stringify(run))
} else {
  console.log(tableOf(rows))
  console.log(notesOn(rows, leftOut))
}

function clock(ms: number): string {
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

function refuse(text: string): never {
  process.stderr.write(`${text}\n`)
  process.exit(2)
}
