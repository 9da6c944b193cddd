/** Prints the answer of a command to standard output, in the format that was asked for. */
import { styleText } from 'node:util'
import { toField } from './column.ts'
import type { Column } from './column.ts'
import { columnsOf, formatOf } from './format.ts'
import type { OutputOptions } from './format.ts'
import { renderTable } from './table.ts'
import type { TableStyle } from './table.ts'
import { toJson, visible } from './visible.ts'

export interface List<Row> {
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** What a further command is given to name the row. */
  readonly name: (row: Row) => string
  /** What programs are told of a row. Default: the row. */
  readonly json?: (row: Row) => unknown
  /** What programs are told in one document. Default: a list of what they are told of each row. */
  readonly document?: unknown
  /** The instant from which ages count. Default: this machine's. */
  readonly now?: number
}

/** Prints rows: as a table, as JSON, as CSV, or by their names alone. @throws TaskError ARGUMENT_INVALID for columns that there are not */
export function printList<Row>(list: List<Row>, options: OutputOptions): void {
  const { rows, name, json = (row: Row): unknown => row } = list
  const columns = columnsOf(list.columns, options)
  switch (formatOf(options)) {
    case 'json':
      return printJson(list.document ?? rows.map(json))
    case 'ndjson':
      return rows.forEach((row) => printLine(json(row)))
    case 'name':
      // A name with a line end would be two names to the program that reads them.
      return rows.forEach((row) => console.log(visible(name(row))))
    case 'csv': {
      if (options.headers !== false) console.log(columns.map((column) => toField(column.name)).join(','))
      return rows.forEach((row) => console.log(columns.map(({ value }) => toField(value(row))).join(',')))
    }
    default:
      for (const line of renderTable(columns, rows, tableStyle(options, list.now))) console.log(line)
  }
}

export interface Done {
  /** What programs are told. */
  readonly json: unknown
  /** What people are told, line by line. */
  readonly lines: readonly string[]
  /** What a further command is given. */
  readonly names: readonly string[]
}

/** Prints what a command has done. */
export function printDone({ json, lines, names }: Done, options: OutputOptions): void {
  const format = formatOf(options)
  if (format === 'json') return printJson(json)
  if (format === 'ndjson') return Array.isArray(json) ? json.forEach(printLine) : printLine(json)
  for (const line of format === 'name' ? names : lines) console.log(visible(line))
}

/** Prints one JSON document for programs. */
export function printJson(value: unknown): void {
  console.log(toJson(value, 2))
}

/** Prints a value as one line of JSON, for programs that read values one by one. */
export function printLine(value: unknown): void {
  console.log(toJson(value))
}

/** Whether only people see standard output: a program that reads it wants no colours, and nothing cut. */
export function isTerminal(): boolean {
  return process.stdout.isTTY
}

/** How wide the terminal is. Some terminals say 0 if they do not know. */
export function terminalWidth(): number {
  return process.stdout.columns || 80
}

export function tableStyle(options: OutputOptions, now: number = Date.now()): TableStyle {
  const wide = formatOf(options) === 'wide'
  const coloured = isTerminal() && !process.env['NO_COLOR']
  return {
    width: wide || !isTerminal() ? Infinity : terminalWidth(),
    ages: !wide,
    utc: options.utc ?? false,
    now,
    headers: options.headers ?? true,
    ...(coloured && { head: (line: string) => styleText('bold', line, { validateStream: false }) }),
  }
}
