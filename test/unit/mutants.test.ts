/** The mutation run, on an example of its own: what it changes, what it notices, and what it does not believe. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import type { Mutant } from '../mutants/mutant.ts'
import { score, survivors, table } from '../mutants/report.ts'
import { rehearse, Trial } from '../mutants/run.ts'
import type { Fate, Outcome } from '../mutants/run.ts'
import { Session } from '../mutants/session.ts'
import { mutate } from '../mutants/source.ts'

const root = join(import.meta.dirname, '..', '..')

/** Each change, as `operator: line`, of a line of code. */
function changesOf(source: string): string[] {
  return mutate('a.ts', source).mutants.map(
    ({ operator, start, end, replacement }) => `${operator}: ${source.slice(0, start)}${replacement}${source.slice(end)}`,
  )
}

test('code is changed where it compares, decides, calculates, calls and answers', () => {
  expect(changesOf('const a = (b: number): boolean => b >= 2 && !c')).toEqual([
    'number: const a = (b: number): boolean => b >= 3 && !c',
    'boundary: const a = (b: number): boolean => b > 2 && !c',
    'negation: const a = (b: number): boolean => b >= 2 && !!c',
    'logic: const a = (b: number): boolean => b >= 2 || !c',
    'result: const a = (b: number): boolean => undefined',
  ])
  expect(changesOf('go(a.filter(f), b ?? 0)')).toEqual([
    'method: go(a, b ?? 0)',
    'number: go(a.filter(f), b ?? 1)',
    'nullish: go(a.filter(f), b)',
    'nullish: go(a.filter(f), 0)',
    'statement: undefined',
  ])
  expect(changesOf('let a = { b, c: d?.e }')).toEqual([
    'property: let a = { , c: d?.e }',
    'optional: let a = { b, c: d.e }',
    'property: let a = { b,  }',
  ])
  // A lock is waited for unless something else is said.
  expect(changesOf("let a = { locked: 'wait' }")).toEqual(["lock: let a = { locked: 'skip' }"])
  expect(changesOf("let a = { locked: 'skip' }")).toEqual(["lock: let a = { locked: 'wait' }"])
  expect(changesOf("import a from 'b'\ntype C = 'd' | 1\nthrow invalid('e', 'f')")).toEqual([])
  // What nobody can notice of a set of names: whose they are, and the value that each has.
  for (const names of ["optionNames<B>('c', { d: true }, 'field')", "checkNames('c', b, { d: true })"])
    expect(changesOf(`let a = ${names}`)).toEqual([`property: let a = ${names.replace('d: true', '')}`])
  expect(changesOf('let a: Readonly<Record<B, true>> = { c: true }')).toEqual([
    'property: let a: Readonly<Record<B, true>> = {  }',
  ])
  expect(changesOf('let a: Record<B, boolean> = { c: true }')).toContain('literal: let a: Record<B, boolean> = { c: false }')
})

test('SQL is changed so that it stays SQL: conditions, orders, limits, and one assignment at a time', () => {
  const changes = (text: string): string[] =>
    changesOf(`let a = sql\`${text}\``).map((change) => change.replace(/let a = sql`(.*)`/, '$1'))
  expect(changes('select b from c where d >= ${e} and f is null order by g limit ${h}')).toEqual([
    'sql-boundary: select b from c where d > ${e} and f is null order by g limit ${h}',
    'sql-logic: select b from c where d >= ${e} or f is null order by g limit ${h}',
    'sql-null: select b from c where d >= ${e} and f is not null order by g limit ${h}',
    'sql-order: select b from c where d >= ${e} and f is null order by g desc limit ${h}',
    'sql-limit: select b from c where d >= ${e} and f is null order by g limit ${h} + 1',
  ])
  expect(changes("update a set b = coalesce(c, 1), d = '=' where e = 2")).toEqual([
    "sql-number: update a set b = coalesce(c, 2), d = '=' where e = 2",
    "sql-number: update a set b = coalesce(c, 1), d = '=' where e = 3",
    "sql-coalesce: update a set b = (c), d = '=' where e = 2",
    "sql-assignment: update a set  d = '=' where e = 2",
    'sql-assignment: update a set b = coalesce(c, 1) where e = 2',
    "sql-equality: update a set b = coalesce(c, 1), d = '=' where e <> 2",
  ])
  // A named constant of a column's is another of the same column.
  expect(changes('update a set state = ${states.ready} where stage = ${stages.failed}')).toEqual([
    'sql-number: update a set state = ${states.active} where stage = ${stages.failed}',
    'sql-number: update a set state = ${states.ready} where stage = ${stages.open}',
    'sql-equality: update a set state = ${states.ready} where stage <> ${stages.failed}',
  ])
})

test('a change that nobody can notice is marked with its reason; a mark that says nothing, or of nothing, is an error', () => {
  const marked = (source: string): (string | undefined)[] => mutate('a.ts', source).mutants.map(({ equivalent }) => equivalent)
  expect(marked('// mutants: equivalent, it is the same\nlet a = b < 1\nlet c = 2')).toEqual([
    'it is the same',
    'it is the same',
    undefined,
  ])
  expect(marked('// mutants: equivalent number `b < 1`, it is the same\nlet a = b < 1')).toEqual(['it is the same', undefined])
  expect(marked('let a = b < 1 // mutants: equivalent boundary, it is the same')).toEqual([undefined, 'it is the same'])
  expect(marked('if (b < 1) c() // mutants: equivalent boundary condition:true, it is the same')).toEqual([
    undefined,
    'it is the same',
    undefined,
    'it is the same',
    undefined,
  ])
  expect(mutate('a.ts', 'let a = b // mutants: equivalent, it is the same').wrong).toEqual([
    'a.ts:1: no mutant is left for the mark "equivalent, it is the same"',
  ])
  expect(mutate('a.ts', 'let a = 1 // mutants: equivalent').wrong).toHaveLength(1)
})

test('each mark in the packages still has a mutant beside it', () => {
  const files = globSync('packages/*/src/**/*.ts', { cwd: root })
  expect(files.length).toBeGreaterThan(300)
  expect(files.flatMap((file) => mutate(file, readFileSync(join(root, file), 'utf8')).wrong)).toEqual([])
})

test('a mutant that a test notices is killed, one that none does has survived, one that hangs is told apart', async () => {
  const file = 'test/mutants/example/steps.ts'
  const source = readFileSync(join(root, file), 'utf8')
  const { code, mutants } = mutate(file, source)
  await using session = await Session.open({
    root,
    test: { include: ['test/mutants/example/*.example.ts'], exclude: [], env: {} },
    sources: new Map([[join(root, file), code]]),
  })
  const rehearsal = await rehearse(session, mutants, () => {})
  expect(rehearsal.red).toEqual([])
  const trial = new Trial(session, rehearsal, mutants.length, { patienceMs: 500 })
  const outcomes: Outcome[] = []
  for (const mutant of mutants) outcomes.push(await trial.fateOf(mutant))

  const fateOf = (operator: string, text: string): Fate | undefined =>
    outcomes.find(({ mutant }) => mutant.operator === operator && textOf(mutant) === text)?.fate
  const textOf = ({ start, end }: Mutant): string => source.slice(start, end)
  expect(fateOf('condition', 'value > most')).toBe('killed')
  expect(fateOf('boundary', '>')).toBe('survived')
  expect(fateOf('assignment', '+=')).toBe('timed out')
  expect(fateOf('condition', 'steps < target')).toBe('killed')
  // What is said while the module is loaded.
  expect(fateOf('string', "'steps'")).toBe('killed')
  // What a test before has written, and the one that notices is given.
  expect(fateOf('string', "'label'")).toBe('killed')
  expect(fateOf('result', 'unit.slice(0, 1)')).toBe('not covered')
  expect(outcomes.find(({ fate }) => fate === 'killed')?.by).toBe('a value is at most what it may be')
  // Survivors, hangs and what is not covered are all alive.
  const killed = outcomes.filter(({ fate }) => fate === 'killed').length
  expect(score(outcomes)).toBeCloseTo((100 * killed) / outcomes.length)
  expect(survivors(outcomes, new Map([[file, source]]))).toContain(
    `${file}:4 boundary, survived\n  - if (value > most) return most\n  + if (value >= most) return most`,
  )
  expect(stripVTControlCharacters(table(outcomes))).toMatch(/steps\.ts .*│ +\d+\.\d %/)
})

test('nothing is said of mutants where a test fails without one', async () => {
  const file = 'test/mutants/example/steps.ts'
  const broken = readFileSync(join(root, file), 'utf8').replace('steps += 1', 'steps += 2')
  await using session = await Session.open({
    root,
    test: { include: ['test/mutants/example/*.example.ts'], exclude: [], env: {} },
    sources: new Map([[join(root, file), mutate(file, broken).code]]),
  })
  const { red } = await rehearse(session, [], () => {})
  expect(red).toEqual([expect.stringContaining("steps.example.ts: steps are counted: expected '4 steps' to be '3 steps'")])
})
