/** Medians and tables. */
import Table from 'cli-table3'

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

/** Thousands of rows a second: the median, and what it varied between. */
export function rates(values: readonly number[]): string {
  const thousands = (value: number): string => (value / 1000).toFixed(1)
  return `${thousands(median(values))} (${thousands(Math.min(...values))}-${thousands(Math.max(...values))})`
}

export interface Section {
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export function print(sections: readonly Section[]): string {
  return sections
    .map((section) => {
      const table = new Table({ head: [...section.head], style: { head: [], border: [] } })
      for (const row of section.rows) table.push([...row])
      return `${section.title}\n${table.toString()}`
    })
    .join('\n\n')
}
