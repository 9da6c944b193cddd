/** Writes the table of a library whose promises are kept here. */
import { leftTo } from '../engines/files.ts'
import { factsOf } from '../engines/registry.ts'
import { cellOf, matches } from './cells.ts'
import type { Ran } from './cells.ts'
import { evidenceOf } from './guarantee.ts'
import type { Requirement } from './requirements.ts'
import { link, table } from './tables.ts'

/** A row for each requirement: the sentences of its tests, where these were kept, and what is different. */
export function keptTable(tests: readonly Ran[], engines: readonly string[], rows: readonly Requirement[]): string {
  const cells = rows.map(({ number, about, tests: references = [], note = '' }) => [
    String(number),
    about,
    sentencesOf(tests, references).join('<br>') || 'none',
    references.length === 0 ? '–' : whereKept(tests, engines, references),
    note,
  ])
  return table(['', 'requirement', 'tests', 'kept', 'note'], cells)
}

/** The names of the tests, each once and with a link to its file. */
function sentencesOf(tests: readonly Ran[], references: readonly string[]): readonly string[] {
  const found = references.flatMap((reference) => tests.filter((test) => matches(test, reference)))
  return [...new Set(found.map((test) => link(test.name.replaceAll(' > ', ' ').replaceAll('|', '\\|'), test, '../..')))]
}

/** Says on which engines all of the tests ran and passed. */
function whereKept(tests: readonly Ran[], engines: readonly string[], references: readonly string[]): string {
  const asked = tests.filter((test) => references.some((reference) => matches(test, reference)))
  // A test that was skipped everywhere proves nothing.
  const unproven = references.filter((reference) => !asked.some((test) => test.state === 'passed' && matches(test, reference)))
  if (unproven.length > 0 || asked.some(({ state }) => state === 'failed')) return '**broken**'
  if (references.every((reference) => reference.startsWith('unit/'))) return 'without a database'
  const evidence = evidenceOf(references.filter((reference) => !reference.startsWith('unit/')))
  const others = engines.filter((engine) => !['kept', 'left'].includes(cellOf(tests, engine, evidence, leftTo).kind))
  return others.length === 0 ? 'on every engine' : `not all on ${others.map((engine) => factsOf(engine).title).join(', ')}`
}
