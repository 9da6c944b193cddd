/**
 * `npm run mutants -- --package task-sql [--files 'verbs/*.ts'] [--tests 'test/unit/*'] [--engine sqlite-memory] [--sample n
 * --seed s] [--json file] [--again file] [--patience seconds] [--budget seconds] [--check-marks]` says which of many small
 * changes of a package its tests notice (docs/mutation-testing.md).
 *
 * `--check-marks` also tries the mutants that are marked as equivalent. The status is 1 if a test fails without a change, if a
 * mark is wrong, or if a marked mutant dies.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, matchesGlob } from 'node:path'
import { parseArgs } from 'node:util'
import { SingleBar } from 'cli-progress'
import { randomOf } from '../interleavings/random.ts'
import { before } from './again.ts'
import { commanded, engineOf, start, testsOf } from './engines.ts'
import type { Mutant } from './mutant.ts'
import { survivors, table } from './report.ts'
import { rehearse, Trial } from './run.ts'
import type { Outcome } from './run.ts'
import { Session } from './session.ts'
import { mutate } from './source.ts'

const { values } = parseArgs({
  options: {
    package: { type: 'string' },
    files: { type: 'string', multiple: true, default: ['**'] },
    engine: { type: 'string' },
    tests: { type: 'string', multiple: true },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    json: { type: 'string' },
    again: { type: 'string' },
    patience: { type: 'string', default: '5' },
    budget: { type: 'string', default: 'Infinity' },
    'check-marks': { type: 'boolean', default: false },
  },
})
const root = join(import.meta.dirname, '..', '..')
const sources = new Map<string, string>()
const outcomes: Outcome[] = []
const earlier = values.again === undefined ? undefined : before(values.again)
const begun = performance.now()
let failed = false

const folder = `packages/${values.package}/src`
const files = globSync(`${folder}/**/*.ts`, { cwd: root })
  .filter((file) => values.files.some((glob) => matchesGlob(file, `${folder}/${glob}`)))
  .toSorted()
if (files.length === 0) throw new Error(`--package ${values.package} --files ${values.files.join(' ')}: there is no such file`)
const byEngine = Map.groupBy(files, (file) => values.engine ?? engineOf(file))
for (const file of byEngine.get(undefined) ?? [])
  console.error(`${file} is left out: the engine that runs it is not started here`)
for (const [engine, some] of byEngine) if (engine !== undefined) await tryAll(engine, some)

const inOrder = outcomes.toSorted(
  ({ mutant: left }, { mutant: right }) => left.file.localeCompare(right.file) || left.start - right.start,
)
console.log(survivors(inOrder, sources))
console.log(table(inOrder))
console.log(`${((performance.now() - begun) / 60_000).toFixed(1)} minutes`)
process.exitCode = failed ? 1 : 0

async function tryAll(engine: string, files: readonly string[]): Promise<void> {
  const mutants: Mutant[] = []
  const mutated = new Map<string, string>()
  for (const file of files) {
    const source = readFileSync(join(root, file), 'utf8')
    sources.set(file, source)
    const { code, mutants: found, wrong } = mutate(file, source, mutants.length + 1)
    mutants.push(...found)
    mutated.set(join(root, file), code)
    if (wrong.length > 0) throw new Error(wrong.join('\n'))
  }
  await using _server = await start(engine)
  const children = commanded.has(values.package ?? '')
  const tests = testsOf(engine, values.package ?? '')
  const test = values.tests ? { ...tests, include: values.tests } : tests
  await using session = await Session.open({ root, test, sources: mutated, children })
  const rehearsing = bar(`without a change, on ${engine}`, session.files.length, '{file}')
  const rehearsal = await rehearse(session, mutants, (file) => rehearsing.increment({ file: basename(file) }))
  rehearsing.stop()
  if (rehearsal.red.length > 0) throw new Error(`fails without any change:\n${rehearsal.red.join('\n')}`)

  const [patienceMs, budgetMs] = [1_000 * Number(values.patience), 1_000 * Number(values.budget)]
  const trial = new Trial(session, rehearsal, mutants.length, { patienceMs, budgetMs })
  const known = new Map(mutants.map((mutant) => [mutant, earlier?.find(mutant)]))
  const marked = mutants.filter(({ equivalent }) => equivalent !== undefined)
  const chosen = values['check-marks'] ? marked : earlier ? mutants.filter((mutant) => known.get(mutant)) : sample(mutants)
  const trying = bar(`${chosen.length} of ${mutants.length} mutants`, chosen.length, '{lived} lived, {eta_formatted}')
  for (const mutant of chosen) {
    const outcome = await outcomeOf(trial, mutant, known.get(mutant))
    outcomes.push(outcome)
    if (values['check-marks'] && outcome.fate === 'killed') {
      failed = true
      console.error(`${mutant.file}:${mutant.line}: marked as equivalent (${mutant.equivalent}), and noticed by ${outcome.by}`)
    }
    trying.increment({ lived: outcomes.filter(({ fate }) => fate === 'survived' || fate === 'timed out').length })
    if (values.json && outcomes.length % 25 === 0) write(values.json)
  }
  trying.stop()
  if (values.json) write(values.json)
}

/** A mutant that an earlier run killed is not tried again. */
async function outcomeOf(trial: Trial, mutant: Mutant, known: Outcome | undefined): Promise<Outcome> {
  if (mutant.equivalent !== undefined && !values['check-marks']) return { mutant, fate: 'equivalent' }
  return known?.fate === 'killed' ? { ...known, mutant } : trial.fateOf(mutant)
}

function write(file: string): void {
  writeFileSync(file, JSON.stringify(outcomes, undefined, 1))
}

/** Takes mutants in a random order, so that those tried by any time are a sample too. */
function sample(mutants: readonly Mutant[]): readonly Mutant[] {
  if (values.sample === undefined) return mutants
  const random = randomOf(Number(values.seed))
  const drawn = mutants.map((mutant) => ({ mutant, by: random() })).toSorted((left, right) => left.by - right.by)
  return drawn.slice(0, Number(values.sample)).map(({ mutant }) => mutant)
}

function bar(name: string, total: number, payload: string): SingleBar {
  const made = new SingleBar({ format: `${name} {bar} {value}/{total} ${payload}`, noTTYOutput: true, notTTYSchedule: 30_000 })
  made.start(total, 0, { file: '', lived: 0 })
  return made
}
