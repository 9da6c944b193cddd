/** What a table may say of a promise on an engine: what ran there, and what did not. */
import type { Evidence } from './guarantee.ts'

/** A test that a run had. */
export interface Ran {
  readonly engine: string
  /** Its file, without folder and ending: `conformance/poll`. */
  readonly file: string
  /** Its name with those of what it stands in, without numbers that are drawn. */
  readonly name: string
  readonly state: 'passed' | 'failed' | 'skipped' | 'pending'
}

export type Cell =
  | { readonly kind: 'not asked' }
  | { readonly kind: 'broken'; readonly test: Ran }
  | { readonly kind: 'kept'; readonly test: Ran }
  | { readonly kind: 'in part'; readonly test: Ran; readonly missing: readonly string[] }

export function matches(test: Ran, reference: string): boolean {
  const [file, part = ''] = reference.split('#')
  return test.file === file && test.name.includes(withoutDraws(part))
}

/** How many draws there were, and of which seed, says nothing of what was tried. */
export function withoutDraws(name: string): string {
  return name.replaceAll(/ \([^()]*seed[^()]*\)/g, '').replaceAll(/\d+/g, 'n')
}

/**
 * Kept only if every test of the promise ran there and passed. A test that another engine ran, and this one did not, is missing; so is
 * a part of the promise for which it has no test at all.
 */
export function cellOf(tests: readonly Ran[], engine: string, evidence: readonly Evidence[]): Cell {
  const asked = evidence.flatMap(({ anyOf }) => tests.filter((test) => anyOf.some((reference) => matches(test, reference))))
  const here = asked.filter((test) => test.engine === engine)
  const failed = here.find(({ state }) => state === 'failed')
  if (failed) return { kind: 'broken', test: failed }
  // By the first test that is named, whatever came first in this run.
  const test = here.find(({ state }) => state === 'passed')
  if (!test) return { kind: 'not asked' }
  const missing = [...new Set(evidence.flatMap((part) => missingOf(tests, engine, part)))].toSorted()
  return missing.length === 0 ? { kind: 'kept', test } : { kind: 'in part', test, missing }
}

function missingOf(tests: readonly Ran[], engine: string, { anyOf, own }: Evidence): string[] {
  const passedHere = (reference: string): Ran[] =>
    tests.filter((test) => test.engine === engine && test.state === 'passed' && matches(test, reference))
  const tried = anyOf.filter((reference) => passedHere(reference).length > 0)
  // The shortest way to say what was not tried: the first test that another engine passed.
  if (tried.length === 0)
    return anyOf.flatMap((reference) => tests.find((test) => matches(test, reference))?.name ?? []).slice(0, 1)
  if (own) return []
  return tried.flatMap((reference) => {
    const names = new Set(passedHere(reference).map(({ name }) => name))
    return tests.filter((test) => matches(test, reference) && !names.has(test.name)).map(({ name }) => name)
  })
}
