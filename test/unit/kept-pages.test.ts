/** The pages of libraries whose promises are kept here say what the tests say, and leave no requirement out. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Ran } from '../guarantees/cells.ts'
import { keptTable } from '../guarantees/kept-table.ts'
import { keptPages } from '../guarantees/kept.ts'

const docs = join(import.meta.dirname, '..', '..', 'docs')
const engines = ['sqlite-memory', 'mariadb']
const ran = (engine: string, name: string, state: Ran['state'] = 'passed', file = 'e2e/words'): Ran => ({
  engine,
  file,
  name,
  state,
})
const rowOf = (tests: readonly Ran[], ...references: readonly string[]): string | undefined =>
  keptTable(tests, engines, [{ number: 7, about: 'the order', tests: references, note: 'As here.' }])
    .split('\n')
    .at(-1)
const everywhere = (name: string, state?: Ran['state']): Ran[] => engines.map((engine) => ran(engine, name, state))

describe('a row of a kept requirement', () => {
  test('has the sentence of its test, and says that it ran on every engine', () => {
    const tests = everywhere('tasks > run in order').map((one) => ({ ...one, file: 'e2e/jobs-queues' }))
    expect(rowOf(tests, 'e2e/jobs-queues#in order')).toBe(
      '| 7 | the order | [tasks run in order](../../test/e2e/jobs-queues.test.ts) | on every engine | As here. |',
    )
  })

  test('says that it is broken if a test failed on an engine, was skipped on all, or is not there', () => {
    const failed = [ran('sqlite-memory', 'tasks > run in order'), ran('mariadb', 'tasks > run in order', 'failed')]
    expect(rowOf(failed, 'e2e/words#in order')).toContain('| **broken** |')
    expect(rowOf(everywhere('tasks > run in order', 'skipped'), 'e2e/words#in order')).toContain('| **broken** |')
    expect(rowOf(everywhere('tasks > run'), 'e2e/words#run', 'e2e/words#in order')).toContain('| **broken** |')
  })

  test('says on which engines not all of its tests ran', () => {
    const some = [ran('sqlite-memory', 'tasks > run in order'), ran('mariadb', 'tasks > run in order', 'skipped')]
    expect(rowOf(some, 'e2e/words#in order')).toContain('| not all on MariaDB |')
  })

  test('counts tests without a database, and names a sentence once', () => {
    const words = ran('unit', 'words > have a |', 'passed', 'unit/words')
    expect(rowOf([words], 'unit/words#have')).toContain('[words have a \\|]')
    expect(rowOf([words], 'unit/words')).toContain('| without a database |')
    const both = rowOf([...everywhere('tasks > run in order'), words], 'e2e/words', 'e2e/words#in order', 'unit/words')
    expect(both?.split('tasks run in order').length).toBe(2)
    expect(both).toContain('| on every engine |')
  })

  test('says why there is no test', () => {
    expect(keptTable([], engines, [{ number: 7, about: 'a | b', note: 'Not built.' }])).toContain(
      '| 7 | a | b | none | – | Not built. |',
    )
  })
})

describe.each(keptPages)('the page $page', ({ page, count, rows }) => {
  test('has a row for each requirement, in their order, with a test or a reason', () => {
    const numbers = rows.map(({ number }) => number)
    expect([...new Set(numbers)]).toEqual(Array.from({ length: count }, (_, index) => index + 1))
    expect(numbers.toSorted((left, right) => left - right)).toEqual(numbers)
    expect(rows.filter(({ tests = [], note = '' }) => tests.length === 0 && note === '')).toEqual([])
  })

  test('is that of these rows', () => {
    const lines = readFileSync(join(docs, page), 'utf8').split('\n')
    const listed = lines.filter((line) => /^\| \d+ \|/.test(line)).map((line) => line.slice(2, -2).split(' | '))
    // The sentences of the tests are written by a run on every engine; that there are some is seen here.
    expect(listed.map((row) => [row[0], row[1], row[2] !== 'none', row.at(-1)?.trim()])).toEqual(
      rows.map(({ number, about, tests = [], note = '' }) => [String(number), about, tests.length > 0, note]),
    )
  })
})
