/** The outcomes of an earlier run, so that its survivors can be tried again with other tests or on another engine. */
import { readFileSync } from 'node:fs'
import type { Mutant } from './mutant.ts'
import type { Outcome } from './run.ts'

export interface Before {
  /** Undefined if the mutant was not tried. */
  find(mutant: Mutant): Outcome | undefined
}

export function before(file: string): Before {
  const outcomes = JSON.parse(readFileSync(file, 'utf8')) as Outcome[]
  const known = new Map(outcomes.map((outcome) => [outcome.mutant.key, outcome]))
  return { find: ({ key }) => known.get(key) }
}
