/** Decides what the table of guarantees may say of a promise on an engine, from the tests that ran there. */
import type { Evidence } from './guarantee.ts'

/** One test of a run. */
export interface Ran {
  readonly engine: string
  /** The file without folder and ending, as in `conformance/poll`. */
  readonly file: string
  /** The names of its suites and its own, without random numbers. */
  readonly name: string
  readonly state: 'passed' | 'failed' | 'skipped' | 'pending'
}

export type Cell =
  | { readonly kind: 'not asked' }
  | { readonly kind: 'left'; readonly to: string; readonly test: Ran }
  | { readonly kind: 'broken'; readonly test: Ran }
  | { readonly kind: 'kept'; readonly test: Ran }
  | { readonly kind: 'in part'; readonly test: Ran; readonly missing: readonly string[] }

export function matches(test: Ran, reference: string): boolean {
  const [file, part = ''] = reference.split('#')
  return test.file === file && test.name.includes(withoutDraws(part))
}

/** Leaves the number of draws and their seed out of a name, because they differ from run to run. */
export function withoutDraws(name: string): string {
  return name.replaceAll(/ \([^()]*seed[^()]*\)/g, '').replaceAll(/\d+/g, 'n')
}

/** The engine to which another one leaves a file of tests, if it does. */
type Left = (engine: string, file: string) => string | undefined

/**
 * A promise is kept only if every one of its tests ran on the engine and passed. It is kept in part if another engine ran a test
 * that this one did not, or if this engine has no test for a part of the promise. It is left to another engine if that one ran
 * all of the tests that this one leaves to it, and this one ran none.
 */
export function cellOf(
  tests: readonly Ran[],
  engine: string,
  evidence: readonly Evidence[],
  leftTo: Left = () => undefined,
): Cell {
  const asked = evidence.flatMap(({ anyOf }) => tests.filter((test) => anyOf.some((reference) => matches(test, reference))))
  const here = asked.filter((test) => test.engine === engine)
  const failed = here.find(({ state }) => state === 'failed')
  if (failed) return { kind: 'broken', test: failed }
  // The cell links the first of its tests in a fixed order, so that it is the same after each run.
  const test = here.find(({ state }) => state === 'passed')
  if (!test) return leftOf(tests, asked, engine, evidence, leftTo)
  const missing = [...new Set(evidence.flatMap((part) => missingOf(tests, engine, part)))].toSorted()
  return missing.length === 0 ? { kind: 'kept', test } : { kind: 'in part', test, missing }
}

function leftOf(tests: readonly Ran[], asked: readonly Ran[], engine: string, evidence: readonly Evidence[], leftTo: Left): Cell {
  const to = asked.map(({ file }) => leftTo(engine, file)).find((other) => other !== undefined)
  if (to === undefined) return { kind: 'not asked' }
  const cell = cellOf(tests, to, evidence)
  return cell.kind === 'kept' || cell.kind === 'in part' ? { kind: 'left', to, test: cell.test } : { kind: 'not asked' }
}

function missingOf(tests: readonly Ran[], engine: string, { anyOf, own }: Evidence): string[] {
  const passedHere = (reference: string): Ran[] =>
    tests.filter((test) => test.engine === engine && test.state === 'passed' && matches(test, reference))
  const tried = anyOf.filter((reference) => passedHere(reference).length > 0)
  // It is enough to name one missing test: the first that another engine passed.
  if (tried.length === 0)
    return anyOf.flatMap((reference) => tests.find((test) => matches(test, reference))?.name ?? []).slice(0, 1)
  if (own) return []
  return tried.flatMap((reference) => {
    const names = new Set(passedHere(reference).map(({ name }) => name))
    return tests.filter((test) => matches(test, reference) && !names.has(test.name)).map(({ name }) => name)
  })
}
