/**
 * Mutants that no test can notice are marked in the source, each with the reason:
 *
 *     // mutants: equivalent, the last page is empty either way
 *     // mutants: equivalent boundary condition:true, without any nothing is written
 *     // mutants: equivalent sql-boundary `state <= 1`, part of the index's condition, and state is 1
 *
 * A mark applies to its own line, or to the next line if it stands alone. A quoted text limits the mark to the next place where
 * the text stands. Operators limit it to mutants of these operators, and a colon to one replacement. A mark without a reason or
 * without a mutant is an error.
 */
import { lineOf } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const mark = /^(.*?)\/\/ mutants: (.*)$/gm
const form = /^equivalent((?: [a-z-]+(?::[^\s,`]+)?)*)(?: `([^`]+)`)?, (.{8,})$/

/** Notes the reasons on the mutants of one source. Returns the errors of its marks. */
export function applyMarks(file: string, source: string, mutants: readonly Mutant[]): string[] {
  const wrong: string[] = []
  for (const { index, 0: whole, 1: before = '', 2: text = '' } of source.matchAll(mark)) {
    const line = lineOf(source, index)
    const [, named = '', quoted, reason] = form.exec(text) ?? []
    if (!reason) {
      wrong.push(`${file}:${line}: the mark "${text}" gives no reason; it is: mutants: equivalent [operator…] [\`text\`], reason`)
      continue
    }
    const behind = index + whole.length
    const start = quoted === undefined ? -1 : source.indexOf(quoted, behind)
    const about = (mutant: Mutant): boolean =>
      quoted === undefined
        ? mutant.line === (before.trim() === '' ? line + 1 : line)
        : start >= 0 && mutant.start >= start && mutant.end <= start + quoted.length
    const changes = named.split(' ').filter(Boolean)
    const isNamed = ({ operator, replacement }: Mutant): boolean =>
      changes.length === 0 || changes.includes(operator) || changes.includes(`${operator}:${replacement}`)
    const marked = mutants.filter((mutant) => about(mutant) && isNamed(mutant))
    if (marked.length === 0) wrong.push(`${file}:${line}: no mutant is left for the mark "${text}"`)
    for (const mutant of marked) mutant.equivalent = reason
  }
  return wrong
}
