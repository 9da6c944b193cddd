/**
 * `npm run tiles -- [--seconds 120] [--record outcomes|exceptions] [--seed n] [--crashes 3] [--json]` hammers claims that are kept as ranges which tile
 * the numbers of a topic (docs/decisions/ranges.md), apart from the product. `--scenarios` plays each scenario with every guard, and without each of its
 * guards instead; `--measure drain`, `node` (the same with a TaskNode), `trickle` or `noted` says what it costs, beside the product's rows.
 *
 * The status is 1 if something is wrong with every guard, or a missing guard is not noticed.
 */
import { parseArgs } from 'node:util'
import { startPostgres } from '../databases/postgres-server.ts'
import type { Guard, TaskRecord } from './guards.ts'
import { guards } from './guards.ts'
import { hammer } from './hammer/run.ts'
import { playAll } from './scenarios/play.ts'

const { values } = parseArgs({
  options: {
    record: { type: 'string' },
    seconds: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Math.trunc(Math.random() * 2 ** 20)) },
    crashes: { type: 'string', default: '3' },
    without: { type: 'string', multiple: true, default: [] },
    scenarios: { type: 'boolean', default: false },
    measure: { type: 'string' },
    cycles: { type: 'string', default: '3000' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
})
const records: readonly TaskRecord[] =
  values.record === 'outcomes' || values.record === 'exceptions' ? [values.record] : ['outcomes', 'exceptions']

if (values.scenarios) await scenarios()
else if (values.measure !== undefined) await measure(values.measure)
else for (const record of records) await hammerOne(record)

async function scenarios(): Promise<void> {
  await using server = await startPostgres()
  const played = await playAll(server.connection, records)
  if (values.json) console.log(JSON.stringify(played, null, 2))
  const wrong = played.filter(({ isExpected }) => !isExpected)
  process.stderr.write(`${played.length} played, ${wrong.length} not as expected\n`)
  if (wrong.length > 0) process.exitCode = 1
}

async function measure(what: string): Promise<void> {
  const { measureDrains } = await import('./measure/drain.ts')
  const { measureNodes } = await import('./measure/node.ts')
  const { measureNoted } = await import('./measure/noted.ts')
  const { measureTrickle } = await import('./measure/trickle.ts')
  const settings = {
    synchronous_commit: 'off',
    fsync: 'on',
    full_page_writes: 'on',
    shared_buffers: '512MB',
    max_wal_size: '4GB',
  }
  await using server = await startPostgres({ settings })
  const measures: Record<string, () => Promise<unknown>> = {
    drain: () => measureDrains(server.connection, { rounds: Number(values.rounds) }),
    node: () => measureNodes(server.connection, { rounds: Number(values.rounds) }),
    trickle: () => measureTrickle(server.connection, Number(values.cycles)),
    noted: () => measureNoted(server.connection),
  }
  const taken = measures[what]
  if (!taken) throw new Error(`--measure must be one of ${Object.keys(measures).join(', ')}, and is ${what}`)
  const figures = await taken()
  if (values.json) console.log(JSON.stringify(figures, null, 2))
  else console.table(figures)
}

async function hammerOne(record: TaskRecord): Promise<void> {
  const without = values.without.map((guard) => {
    if (!Object.hasOwn(guards, guard))
      throw new Error(`--without must be one of ${Object.keys(guards).join(', ')}, and is ${guard}`)
    return guard as Guard
  })
  const report = await hammer({
    form: { record, without },
    seconds: Number(values.seconds),
    seed: Number(values.seed),
    crashes: Number(values.crashes),
  })
  if (values.json) console.log(JSON.stringify(report, null, 2))
  else console.dir(report, { depth: 4 })
  if (Object.keys(report.violations).length > 0) process.exitCode = 1
}
