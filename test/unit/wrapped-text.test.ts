/** Texts on a narrow terminal: whole, on lines that fit. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { widthOf } from '../../packages/task-cli/src/output/width.ts'
import { wrapped } from '../../packages/task-cli/src/output/wrap.ts'

describe('a wrapped text', () => {
  test('breaks between words, and within a word that is wider than a line', () => {
    expect(wrapped('one line', 40)).toEqual(['one line'])
    expect(wrapped('a topic stands still', 10, '  ')).toEqual(['  a topic', '  stands', '  still'])
    expect(wrapped('abcdefgh ij', 5)).toEqual(['abcde', 'fgh', 'ij'])
    expect(wrapped('any length', Infinity)).toEqual(['any length'])
  })

  test('is still one command for a shell, whose quoted words stay whole', () => {
    expect(wrapped("taskstream resume 'two words'", 25, '  ', ' \\')).toEqual(['  taskstream resume \\', "  'two words'"])
  })

  test('has all of its characters, on no line that is too wide', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 4, max: 60 }), (text, width) => {
        const lines = wrapped(text, width)
        expect(lines.join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''))
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width)
      }),
    )
  })
})
