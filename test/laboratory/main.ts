/**
 * Runs run.ts: `npm run laboratory -- [--engine postgres|sqlite|mariadb] [--seconds 60] [--seed n] [--json]`. With `--beside` and a checkout of an
 * earlier release, made ready by `npm run setup`, every second process uses its packages, as during a rolling deployment.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { shrink } from './checker/shrink.ts'
import { fences } from './fences.ts'
import { timelineSvg, timelineText } from './checker/timeline.ts'
import { runLaboratory } from './run.ts'
import type { LaboratoryOptions } from './run.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'postgres' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    rate: { type: 'string', default: '60' },
    lanes: { type: 'string', default: '3' },
    folder: { type: 'string' },
    without: { type: 'string' },
    beside: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const { engine } = values
if (!['postgres', 'sqlite', 'mariadb'].includes(engine))
  throw new Error(`--engine must be postgres, sqlite or mariadb, and is ${engine}`)
if (values.without !== undefined && !fences.some(({ name }) => name === values.without))
  throw new Error(`--without must be one of ${fences.map(({ name }) => `'${name}'`).join(', ')}`)
if (values.beside !== undefined && !existsSync(join(values.beside, 'packages')))
  throw new Error(`--beside must be a checkout of another release, and is ${values.beside}`)
const begunMs = performance.now()
const report = await runLaboratory({
  engine: engine as LaboratoryOptions['engine'],
  seconds: Number(values.seconds),
  seed: Number(values.seed),
  rate: Number(values.rate),
  lanes: Number(values.lanes),
  ...(values.folder !== undefined && { folder: values.folder }),
  ...(values.without !== undefined && { without: values.without }),
  ...(values.beside !== undefined && { beside: values.beside }),
  onProgress: (line) => process.stderr.write(`${((performance.now() - begunMs) / 1_000).toFixed(1).padStart(6)} s  ${line}\n`),
})
const { faults, violations, never, history, folder, ...counts } = report
if (values.json) {
  console.log(JSON.stringify({ ...counts, faults, never, violations }))
} else {
  const table = new Table({ head: [`${engine}, seed ${report.seed}`, 'times', 'met'] })
  table.push(...Object.entries(faults).map(([kind, { times, met }]) => [kind, times, met]))
  console.log(table.toString())
  const sums = new Table()
  const { takeOverMs, ...numbers } = counts
  sums.push(
    ...Object.entries(numbers),
    ['take-overs', `${takeOverMs.count}, median ${takeOverMs.median} ms, most ${takeOverMs.most} ms`],
    ['violations', violations.length],
  )
  console.log(sums.toString())
}
const byRule = Map.groupBy(violations, ({ rule }) => rule)
for (const [rule, each] of byRule) {
  process.stderr.write(`\n${rule}: ${each.length}\n`)
  for (const { says } of each.slice(0, 5)) process.stderr.write(`  ${says}\n`)
  const part = shrink(history, each[0]!)
  process.stderr.write(`${timelineText(part)}\n`)
  const picture = join(folder!, `${rule.replace(' ', '-')}.svg`)
  writeFileSync(picture, timelineSvg(part))
  process.stderr.write(`The history and the picture of this timeline are in ${folder!}\n`)
}
if (never.length > 0) process.stderr.write(`never came about: ${never.join(', ')}\n`)
process.exitCode = violations.length + never.length > 0 ? 1 : 0
