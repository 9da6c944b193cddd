/**
 * Measures what telemetry costs: `npm run bench:telemetry -- [--quick]`. Tasks are pushed in batches of 100 and drained in batches of 100 by handlers that do
 * nothing, without telemetry and with spans, of which 1 % are sampled, and metrics, in turns, each in a process of its own. It runs on PostgreSQL and on a SQLite file. What counts is
 * the processor's time of this process for a task, as on a busy machine the clock tells more of others: it costs at least the share that it costs of the
 * time by the clock, to which the server adds its own.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { startPostgres } from '../../test/databases/postgres-server.ts'

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const count = values.quick ? 10_000 : 50_000
const pairs = values.quick ? 5 : 21

/** What a task costs, in microseconds of the processor. */
interface Costs {
  readonly push: number
  readonly drain: number
}

const whats = ['push', 'drain'] as const

function costs(place: string, mode: 'plain' | 'instrumented'): Costs {
  const worker = join(import.meta.dirname, 'telemetry-worker.ts')
  const args = ['--no-warnings', '--conditions=@taskstream/source', worker, place, mode, String(count)]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Costs
}

function quantile(numbers: readonly number[], share: number): number {
  return numbers.toSorted((left, right) => left - right)[Math.floor((numbers.length - 1) * share)]!
}

function measure(engine: string, place: string): void {
  const plain: Costs[] = []
  const instrumented: Costs[] = []
  for (let pair = 0; pair < pairs; pair++) {
    // Each goes first in turn.
    if (pair % 2 === 0) plain.push(costs(place, 'plain'))
    instrumented.push(costs(place, 'instrumented'))
    if (pair % 2 === 1) plain.push(costs(place, 'plain'))
  }
  for (const what of whats) {
    const ratios = instrumented.map((each, pair) => each[what] / plain[pair]![what])
    const [least, median, most] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share).toFixed(3))
    const [without, with_] = [plain, instrumented].map((all) =>
      quantile(
        all.map((each) => each[what]),
        0.5,
      ).toFixed(2),
    )
    table.push([engine, what, without, with_, median, `${least} to ${most}`])
  }
}

const table = new Table({
  head: ['engine', 'what', 'µs a task, without', 'with', 'of that (median of pairs)', 'half of the pairs'],
})
{
  await using server = await startPostgres()
  measure('PostgreSQL', server.url)
}
const folder = mkdtempSync(join(tmpdir(), 'taskstream-telemetry-'))
try {
  measure('SQLite file', join(folder, 'tasks.db'))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.stdout.write(`${table.toString()}\n`)
