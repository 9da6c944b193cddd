/** The table of guarantees says of an engine only what ran there. */
import { describe, expect, test } from 'vitest'
import { cellOf } from '../guarantees/cells.ts'
import type { Cell, Ran } from '../guarantees/cells.ts'
import { anyOf, evidenceOf, own } from '../guarantees/guarantee.ts'
import type { Guarantee } from '../guarantees/guarantee.ts'

const ran = (engine: string, name: string, state: Ran['state'] = 'passed', file = 'conformance/push'): Ran => ({
  engine,
  file,
  name,
  state,
})
const cell = (tests: readonly Ran[], ...references: Guarantee['tests']): Cell['kind'] =>
  cellOf(tests, 'here', evidenceOf(references)).kind
const missing = (tests: readonly Ran[], ...references: Guarantee['tests']): readonly string[] => {
  const found = cellOf(tests, 'here', evidenceOf(references))
  return found.kind === 'in part' ? found.missing : []
}

describe('a promise is', () => {
  test('kept where every test of it ran and passed', () => {
    expect(cell([ran('here', 'push a'), ran('there', 'push a')], 'conformance/push#a')).toBe('kept')
  })

  test('kept in part where a test ran on another engine only, and that is said', () => {
    const tests = [ran('here', 'push a'), ran('there', 'push a'), ran('there', 'push a, beside a rival')]
    expect(cell(tests, 'conformance/push#push a')).toBe('in part')
    expect(missing(tests, 'conformance/push#push a')).toEqual(['push a, beside a rival'])
  })

  test('kept in part where a test was skipped', () => {
    const tests = [ran('here', 'push a'), ran('here', 'push b', 'skipped'), ran('there', 'push b')]
    expect(missing(tests, 'conformance/push')).toEqual(['push b'])
  })

  test('kept in part where one of its tests is of no engine like this one', () => {
    const tests = [ran('here', 'push a'), ran('there', 'killed', 'passed', 'faults/kill')]
    expect(missing(tests, 'conformance/push', 'faults/kill')).toEqual(['killed'])
  })

  test('kept by a test whose name has numbers, whatever they are drawn to be', () => {
    expect(cell([ran('here', 'kill n times (Bn)')], 'conformance/push#kill 200 times (B21)')).toBe('kept')
  })

  test('broken where one test failed, whatever else passed', () => {
    expect(cell([ran('here', 'push a'), ran('here', 'push b', 'failed')], 'conformance/push')).toBe('broken')
  })

  test('not asked where no test of it ran', () => {
    expect(cell([ran('there', 'push a'), ran('here', 'push b', 'skipped')], 'conformance/push')).toBe('not asked')
  })

  test('left to another engine where that one ran the test, and this one leaves its file to it', () => {
    const leftTo = (engine: string, file: string): string | undefined =>
      engine === 'here' && file === 'e2e/late' ? 'there' : undefined
    const late = ran('there', 'comes late', 'passed', 'e2e/late')
    const cellWith = (...tests: Ran[]): Cell => cellOf(tests, 'here', evidenceOf(['e2e/late', 'e2e/due']), leftTo)
    expect(cellWith(late, ran('there', 'is due', 'passed', 'e2e/due'))).toEqual({ kind: 'left', to: 'there', test: late })
    expect(cellWith({ ...late, state: 'failed' }).kind).toBe('not asked')
    expect(cellWith(late, ran('here', 'is due', 'passed', 'e2e/due')).kind).toBe('in part')
  })

  test('kept by other words for the same thing, or by tests that each engine has of its own', () => {
    const tests = [ran('here', 'is killed', 'passed', 'faults/mysql'), ran('there', 'crashes', 'passed', 'faults/server-crash')]
    expect(cell(tests, anyOf('faults/server-crash', 'faults/mysql'))).toBe('kept')
    expect(cell([ran('here', 'pg: push'), ran('there', 'mysql2: push')], own('conformance/push'))).toBe('kept')
  })
})
