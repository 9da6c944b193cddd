/** What a list can show of each of its rows. */
import { absolute, duration, relative } from './duration.ts'
import { visible } from './visible.ts'

export interface Column<Row> {
  /** The name in the head of the table and in `--columns`. */
  readonly name: string
  /** Where there is not enough room, columns of the highest rank are dropped first. Columns of rank 0 stay. */
  readonly rank: number
  /**
   * - `text`: cut at its end
   * - `identifier`: cut in its middle
   * - `number`: on the right, and never cut
   * - `word`: one of a few words, and never cut
   * - `instant`: an age in tables, absolute in the other formats
   * - `due`: an instant that should lie ahead: one that has passed is late in tables
   * - `duration`: milliseconds
   */
  readonly kind: 'text' | 'identifier' | 'number' | 'word' | 'instant' | 'due' | 'duration'
  readonly value: (row: Row) => Cell
  /** Whether tables have the column only where it is asked for by name; wide tables always have it. */
  readonly wideOnly?: boolean
}

export type Cell = string | number | boolean | Date | null | undefined

interface Style {
  /** Whether instants are ages. */
  readonly ages: boolean
  readonly utc: boolean
  readonly now: number
}

/** The text of a cell for people, in which nothing is left that would disturb a terminal. */
export function toText(kind: Column<never>['kind'], cell: Cell, { ages, utc, now }: Style): string {
  if (cell === undefined || cell === null) return ''
  if (cell instanceof Date) return ages ? aged(kind, cell, now) : absolute(cell, utc)
  if (kind === 'duration' && typeof cell === 'number') return duration(cell)
  return visible(String(cell))
}

/** A second is nothing: this machine's clock may be ahead by as much. */
function aged(kind: Column<never>['kind'], instant: Date, now: number): string {
  return relative(instant, now) + (kind === 'due' && now - instant.getTime() >= 1_000 ? ' late' : '')
}

/** The text of a cell for programs: durations are milliseconds, and instants are in UTC. */
export function toField(cell: Cell): string {
  if (cell === undefined || cell === null) return ''
  const text = cell instanceof Date ? absolute(cell, true) : visible(String(cell))
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
