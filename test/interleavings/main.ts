/**
 * `npm run interleavings -- [--engine postgres|sqlite|mariadb] [--most 300] [--seed n] [--mutants]` runs the steps of a few
 * connections in every order, or in so many orders of each kind. `--mutants` also takes one guard after another out of the code
 * for PostgreSQL and says what is found, each in a process of its own.
 *
 * The status is 1 if a task is stranded, given twice or overtaken, or if a missing guard was not noticed.
 */
import { spawn } from 'node:child_process'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import Table from 'cli-table3'
import { startEngine } from '../databases/start-engine.ts'
import { mutants, mutate } from './mutants.ts'
import { randomOf } from './random.ts'

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'postgres' },
    most: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Math.trunc(Math.random() * 2 ** 31)) },
    mutants: { type: 'boolean', default: false },
    mutant: { type: 'string' },
  },
})

async function exploreAll(): Promise<void> {
  const mutant = mutants.find(({ name }) => name === values.mutant)
  if (mutant) mutate(mutant)
  // A process of one mutant uses its parent's server.
  await using _server = mutant ? undefined : await startEngine(values.engine)
  const { explore } = await import('./explore.ts')
  const { openSubject } = await import('../subject.ts')
  const { clockAhead } = await import('./clock-ahead.ts')
  const { canBegin } = await import('./scenario.ts')
  const { scenarios } = await import('./scenarios.ts')
  const table = new Table({ head: ['', 'orders', 'violations', 'seconds'] })
  for (const scenario of scenarios) {
    await using subject = await openSubject()
    if (!canBegin(scenario, subject.writers)) continue
    using clock = clockAhead()
    const began = Date.now()
    const most = Number(values.most)
    const { schedules, violations } = await explore(subject, scenario, {
      most,
      random: randomOf(Number(values.seed)),
      pass: clock.pass,
    })
    table.push([scenario.name, schedules, violations.length, Math.round((Date.now() - began) / 1_000)])
    process.stderr.write(`${scenario.name}: ${schedules}\n`)
    for (const violation of violations) console.log(violation)
    if (violations.length === 0) continue
    process.exitCode = 1
    // One violation is enough to notice a missing guard.
    if (mutant) return
  }
  if (!mutant) console.log(`seed ${values.seed}\n${table.toString()}`)
}

async function exploreMutants(): Promise<void> {
  await using _server = await startEngine('postgres')
  const table = new Table({ head: ['without a guard', 'found'], colWidths: [60, 100], wordWrap: true })
  for (const { name } of mutants) {
    const found = await findings(name)
    if (!found) process.exitCode = 1
    table.push([name, found?.replaceAll('\n', ' ') ?? 'NOTHING'])
    process.stderr.write(`${name}: ${found ? 'found' : 'NOT FOUND'}\n`)
  }
  console.log(table.toString())
}

/**
 * Returns the output of a process that runs with this mutant, or undefined if it found nothing. @throws Error if the process
 * could not begin
 */
async function findings(mutant: string): Promise<string | undefined> {
  const flags = ['--mutant', mutant, '--most', values.most, '--seed', values.seed]
  const child = spawn(process.execPath, ['--conditions=@taskstream/source', import.meta.filename, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let told = ''
  let failed = ''
  child.stdout.on('data', (chunk: Buffer) => void (told += String(chunk)))
  child.stderr.on('data', (chunk: Buffer) => void (failed += String(chunk)))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  if (code === 0) return undefined
  if (told === '') throw new Error(`${mutant}: ${failed}`)
  return stripVTControlCharacters(told.trim())
}

if (values.mutants) await exploreMutants()
if (!values.mutants || values.mutant) await exploreAll()
