/** Writes the tables of docs/guarantees.md. */
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { leftTo } from '../engines/files.ts'
import { engineNames, factsOf } from '../engines/registry.ts'
import { cellOf, matches } from './cells.ts'
import type { Cell, Ran } from './cells.ts'
import { evidenceOf } from './guarantee.ts'
import { sections } from './guarantees.ts'
import { requirements } from './requirements.ts'

const root = join(import.meta.dirname, '..', '..')
/** At most so many missing tests are named in a note. */
const named = 6

/** A row for each promise with a cell for each engine. Notes below list the missing tests of promises that are kept in part. */
export function guaranteesTable(tests: readonly Ran[], engines: readonly string[]): string {
  const notes: string[] = []
  const noteOf = (text: string): number => {
    if (!notes.includes(text)) notes.push(text)
    return notes.indexOf(text) + 1
  }
  const heads = ['', ...engineNames.map((name) => factsOf(name).title)]
  const tables = sections.flatMap(({ title, guarantees }) => {
    const rows = guarantees.map(({ promise, tests: references }) => {
      const evidence = evidenceOf(references)
      return [
        promise,
        ...engineNames.map((name) => (engines.includes(name) ? said(cellOf(tests, name, evidence, leftTo), noteOf) : 'not run')),
      ]
    })
    return [`### ${title}`, '', table(heads, rows), '']
  })
  const list = notes.map((note, index) => `${index + 1}. <a id="not-tried-${index + 1}"></a>${note}`)
  return [...tables, '### Not tried, where a promise is kept in part', '', ...list].join('\n')
}

function said(cell: Cell, noteOf: (text: string) => number): string {
  if (cell.kind === 'not asked') return '–'
  if (cell.kind === 'broken') return '**broken**'
  if (cell.kind === 'left') return link(`as ${factsOf(cell.to).title}`, cell.test)
  if (cell.kind === 'kept') return link('kept', cell.test)
  const { missing } = cell
  const more = missing.length > named ? `; and ${missing.length - named} more` : ''
  const number = noteOf(missing.slice(0, named).join('; ') + more)
  return `${link('in part', cell.test)} [${number}](#not-tried-${number})`
}

export function requirementsTable(tests: readonly Ran[]): string {
  const rows = requirements.map(({ number, about, tests: references = [], note = '' }) => {
    const found = references.flatMap((reference) => tests.find((test) => matches(test, reference)) ?? [])
    const links = new Set(found.map((test) => link(basename(test.file), test)))
    return [String(number), about, [...links].join(', ') || 'none', note]
  })
  return ['## The repository, requirement by requirement', '', table(['', 'requirement', 'tests', 'note'], rows)].join('\n')
}

export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** @param up leads from the page to the root of the repository */
export function link(text: string, { file }: Ran, up: string = '..'): string {
  const own = `test/${file}.test.ts`
  const suite = `packages/task-testing/src/suite/${basename(file)}.ts`
  return `[${text}](${up}/${existsSync(join(root, own)) ? own : suite})`
}
