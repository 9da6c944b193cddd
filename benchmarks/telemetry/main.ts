/**
 * Measures what telemetry costs: `npm run bench:telemetry -- [--quick]`. One process pushes tasks in batches of 100, and drains them in batches of 100 by
 * handlers that do nothing: in turns without telemetry, and with spans, of which 1 % are sampled, and metrics. On PostgreSQL and on a SQLite file. The
 * clock says what users lose, and the processor's time of the process what telemetry itself takes.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import Table from 'cli-table3'
import { startPostgres } from '../../test/databases/postgres-server.ts'
import type { Pair } from './telemetry-worker.ts'

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const turns = values.quick ? 12 : 240

const whats = ['push', 'drain'] as const
const units = ['clock', 'cpu'] as const

function quantile(numbers: readonly number[], share: number): number {
  return numbers.toSorted((left, right) => left - right)[Math.floor((numbers.length - 1) * share)]!
}

async function measure(engine: string, place: string): Promise<void> {
  const worker = join(import.meta.dirname, 'telemetry-worker.ts')
  const args = ['--no-warnings', '--conditions=@taskstream/source', worker, place, String(turns)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const pairs = JSON.parse(stdout) as readonly Pair[]
  for (const what of whats)
    for (const unit of units) {
      const ratios = pairs.map((pair) => pair.with[what][unit] / pair.without[what][unit])
      const [least, median, most] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share).toFixed(3))
      const middle = (which: 'with' | 'without'): string =>
        quantile(
          pairs.map((pair) => pair[which][what][unit]),
          0.5,
        ).toFixed(2)
      table.push([engine, what, names[unit], middle('without'), middle('with'), median, `${least} to ${most}`])
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
