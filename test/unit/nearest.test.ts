/** The word that was meant is found by how little it differs, and nothing is suggested where too much does. */
import { nearest } from '@taskstream/task-api'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

/** From the last character on, and without a table. */
function difference(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length
  const [left, right] = [a.slice(0, -1), b.slice(0, -1)]
  const other = a.at(-1) === b.at(-1) ? 0 : 1
  const ways = [difference(left, b) + 1, difference(a, right) + 1, difference(left, right) + other]
  const isSwapped = a.length > 1 && b.length > 1 && a.at(-1) === b.at(-2) && a.at(-2) === b.at(-1)
  return Math.min(...ways, ...(isSwapped ? [difference(a.slice(0, -2), b.slice(0, -2)) + 1] : []))
}

describe('the nearest word', () => {
  test('is the first of those that differ least: in two characters at most, and in fewer than half of them', () => {
    const word = fc.string({ maxLength: 6, unit: fc.constantFrom('a', 'b', 'c') })
    fc.assert(
      fc.property(word, fc.array(word, { maxLength: 3 }), (text, words) => {
        const near = words
          .map((each) => ({ each, by: difference(text, each) }))
          .filter(({ by }) => by <= 2 && by < text.length / 2)
          .toSorted((left, right) => left.by - right.by)
        expect(nearest(text, words)).toBe(near[0]?.each)
      }),
      { numRuns: 2_000 },
    )
  })

  test.each([
    ['delayMs', 'delyaMs'],
    ['delayMs', 'delay'],
    ['delayMs', 'delayMsec'],
    ['delayMs', 'DELAYMS'],
    ['delayMs', 'dellayMs'],
    ['delayMs', 'felayMd'],
    ['size', 'sise'],
    ['size', 'siez'],
  ])('is %s for %s', (word, text) => {
    expect(nearest(text, ['other', word, 'another'])).toBe(word)
  })

  test.each(['delayMinutes', 'fexayMd', 'del', 'swap', 'x', '', 'x'.repeat(100_000)])('is none for %s', (text) => {
    expect(nearest(text, ['delayMs', 'size'])).toBeUndefined()
  })

  test('is the nearer of two, whichever is first', () => {
    expect(nearest('sizes', ['sxzex', 'size'])).toBe('size')
    expect(nearest('sizes', ['size', 'sxzex'])).toBe('size')
  })

  test('is told in its own case, whatever case is asked in', () => {
    expect(nearest('TIMEOUTMS', ['timeoutMs'])).toBe('timeoutMs')
    expect(nearest('timeoutms', ['TimeoutMs'])).toBe('TimeoutMs')
  })
})
