import Table from 'cli-table3'

/** Prints a table for people, in colours only on a terminal. */
export function printTable(head: readonly string[], rows: readonly (readonly unknown[])[]): void {
  const plain = !process.stdout.isTTY || process.env['NO_COLOR'] !== undefined
  const table = new Table({
    head: [...head],
    style: plain ? { head: [], border: [] } : { head: ['bold'], border: ['gray'] },
  })
  for (const row of rows) table.push(row.map(toCell))
  console.log(table.toString())
}

/** Prints one JSON document for programs. */
export function printJson(value: unknown): void {
  console.log(JSON.stringify(value, undefined, 2))
}

/** Prints a value as one line of JSON, for programs that read values one by one. */
export function printLine(value: unknown): void {
  console.log(JSON.stringify(value))
}

function toCell(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (value instanceof Date) return value.toISOString()
  const text = String(value).replaceAll(/\s+/g, ' ')
  return text.length > 60 ? `${[...text].slice(0, 59).join('')}…` : text
}

/** Writes milliseconds for people, in the two largest units: `90061000` is `1d 1h`. */
export function duration(ms: number): string {
  const units: readonly (readonly [string, number])[] = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1_000],
  ]
  const first = units.findIndex(([, size]) => ms >= size)
  if (first < 0) return `${ms}ms`
  const parts = units.slice(first, first + 2).map(([name, size], index) => {
    const within = index === 0 ? ms : ms % units[first]![1]
    return [Math.floor(within / size), name] as const
  })
  return parts
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count}${name}`)
    .join(' ')
}
