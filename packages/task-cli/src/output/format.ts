/** The options of every command that say how its answer is written. */
import { invalid, nearest } from '@taskstream/task-api'
import { Option } from 'commander'
import type { Command } from 'commander'
import type { Column } from './column.ts'

const formats = ['table', 'wide', 'json', 'ndjson', 'csv', 'name'] as const
export type Format = (typeof formats)[number]

export interface OutputOptions {
  readonly output?: Format
  readonly json?: boolean
  readonly columns?: string
  readonly headers?: boolean
  readonly utc?: boolean
}

export function withOutput(command: Command): Command {
  return command
    .addOption(new Option('-o, --output <format>', 'how to write the answer (default: table)').choices(formats))
    .addOption(new Option('--json', 'short for -o json').conflicts('output'))
    .option('--columns <names>', 'only these columns of table, wide and csv, such as topic,ready')
    .option('--no-headers', 'leave out the names of the columns')
    .option('--utc', 'write instants in UTC instead of local time')
}

export function formatOf({ output, json = false }: OutputOptions): Format {
  return output ?? (json ? 'json' : 'table')
}

/** The columns that are asked for, or those that the format has. @throws TaskError ARGUMENT_INVALID for a name that no column has */
export function columnsOf<Row>(columns: readonly Column<Row>[], options: OutputOptions): readonly Column<Row>[] {
  const format = formatOf(options)
  if (options.columns === undefined) return format === 'table' ? columns.filter(({ wideOnly = false }) => !wideOnly) : columns
  if (!['table', 'wide', 'csv'].includes(format))
    throw invalid('--columns', options.columns, `cannot be given with -o ${format}, which has no columns`)
  const names = columns.map(({ name }) => name)
  return options.columns.split(',').map((asked) => {
    const found = columns.find(({ name }) => name.toLowerCase() === asked.trim().toLowerCase())
    if (found !== undefined) return { ...found, rank: 0 }
    const meant = nearest(asked.trim(), names)
    throw invalid('--columns', asked, `${meant === undefined ? '' : `(did you mean ${meant}?) `}must be of ${names.join(', ')}`)
  })
}
