/** Prints the result of a mutation run: a table and the survivors. */
import Table from 'cli-table3'
import type { Fate, Outcome } from './run.ts'

const fates: readonly Fate[] = ['killed', 'survived', 'timed out', 'not covered', 'equivalent']

/** The percentage of mutants that died, without equivalent ones. Undefined if there are none. */
export function score(outcomes: readonly Outcome[]): number | undefined {
  const real = outcomes.filter(({ fate }) => fate !== 'equivalent')
  if (real.length === 0) return undefined
  return (100 * real.filter(({ fate }) => fate === 'killed').length) / real.length
}

export function table(outcomes: readonly Outcome[]): string {
  const rows = new Table({ head: ['', ...fates, 'score'], colAligns: ['left', ...fates.map(() => 'right' as const), 'right'] })
  const add = (name: string, some: readonly Outcome[]): void => {
    const percent = score(some)
    rows.push([
      name,
      ...fates.map((fate) => some.filter((one) => one.fate === fate).length),
      percent === undefined ? '–' : `${percent.toFixed(1)} %`,
    ])
  }
  for (const [file, some] of Map.groupBy(outcomes, ({ mutant }) => mutant.file)) add(file, some)
  add('together', outcomes)
  return rows.toString()
}

export function survivors(outcomes: readonly Outcome[], sources: ReadonlyMap<string, string>): string {
  return outcomes
    .filter(({ fate }) => fate === 'survived' || fate === 'timed out' || fate === 'not covered')
    .map(({ mutant, fate }) => {
      const source = sources.get(mutant.file) ?? ''
      const from = source.lastIndexOf('\n', mutant.start - 1) + 1
      const behind = source.indexOf('\n', mutant.end)
      const to = behind < 0 ? source.length : behind
      const before = source.slice(from, to)
      const after = source.slice(from, mutant.start) + mutant.replacement + source.slice(mutant.end, to)
      return `${mutant.file}:${mutant.line} ${mutant.operator}, ${fate}\n  - ${inOneLine(before)}\n  + ${inOneLine(after)}`
    })
    .join('\n')
}

function inOneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > 240 ? `${line.slice(0, 120)} … ${line.slice(-120)}` : line
}
