/**
 * Measures what telemetry costs: `npm run bench:telemetry -- [--quick]`. Tasks are pushed in batches of 100 and drained in batches of 100 by handlers that do
 * nothing, without telemetry and with spans, of which 1 % are sampled, and metrics. The two take turns, each in a process of its own, on PostgreSQL and on
 * a SQLite file. The clock says what users lose, and the processor's time of the process what telemetry itself takes: on a busy machine the clock tells
 * more of others, and the second is the greater share, as the clock counts the server's work too.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import Table from 'cli-table3'
import { startPostgres } from '../../test/databases/postgres-server.ts'

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const count = values.quick ? 20_000 : 100_000
const pairs = values.quick ? 5 : 15

const whats = ['push', 'drain'] as const
const units = ['clock', 'cpu'] as const

/** What a task costs, in microseconds by the clock and of the processor. */
type Costs = Readonly<Record<(typeof whats)[number], Readonly<Record<(typeof units)[number], number>>>>

const run = promisify(execFile)

async function costs(place: string, mode: 'plain' | 'instrumented'): Promise<Costs> {
  const worker = join(import.meta.dirname, 'telemetry-worker.ts')
  const args = ['--no-warnings', '--conditions=@taskstream/source', worker, place, mode, String(count)]
  const { stdout } = await run(process.execPath, args)
  return JSON.parse(stdout) as Costs
}

function quantile(numbers: readonly number[], share: number): number {
  return numbers.toSorted((left, right) => left - right)[Math.floor((numbers.length - 1) * share)]!
}

async function measure(engine: string, place: string): Promise<void> {
  const plain: Costs[] = []
  const instrumented: Costs[] = []
  for (let pair = 0; pair < pairs; pair++) {
    // Each goes first in turn.
    if (pair % 2 === 0) plain.push(await costs(place, 'plain'))
    instrumented.push(await costs(place, 'instrumented'))
    if (pair % 2 === 1) plain.push(await costs(place, 'plain'))
  }
  for (const what of whats)
    for (const unit of units) {
      const of = (each: Costs): number => each[what][unit]
      const ratios = instrumented.map((each, pair) => of(each) / of(plain[pair]!))
      const [least, median, most] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share).toFixed(3))
      const [without, with_] = [plain, instrumented].map((all) => quantile(all.map(of), 0.5).toFixed(2))
      table.push([engine, what, names[unit], without, with_, median, `${least} to ${most}`])
    }
}

const names = { clock: 'clock', cpu: 'processor' }
const table = new Table({
  head: ['engine', 'what', 'by', 'µs a task, without', 'with', 'of that (median of pairs)', 'half of the pairs'],
})
{
  await using server = await startPostgres()
  await measure('PostgreSQL', server.url)
}
const folder = mkdtempSync(join(tmpdir(), 'taskstream-telemetry-'))
try {
  await measure('SQLite file', join(folder, 'tasks.db'))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.stdout.write(`${table.toString()}\n`)
