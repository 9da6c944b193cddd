/** Tables without lines, fitted to the width of a terminal. */
import { toText } from './column.ts'
import type { Column } from './column.ts'
import { cutEnd, cutMiddle, padEnd, padStart, widthOf } from './width.ts'

export interface TableStyle {
  /** How wide the table may be. Infinity: nothing is dropped and nothing is cut. */
  readonly width: number
  readonly ages: boolean
  readonly utc: boolean
  readonly now: number
  readonly headers: boolean
  /** Marks the head of the table. */
  readonly head?: (line: string) => string
}

interface Measured {
  readonly name: string
  readonly rank: number
  readonly kind: Column<never>['kind']
  readonly texts: readonly string[]
  readonly natural: number
  readonly least: number
}

const gap = 2

/** To this width a cell may be cut, if the table would not fit otherwise. */
const leastText = 8

/** Wider texts are cut even where there is room: they would push all others away. */
export const mostText = 60

export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], style: TableStyle): string[] {
  const fitted = Number.isFinite(style.width)
  const all = columns.map((column) => measured(column, rows, style))
  // On a terminal, a column in which no row has anything only takes room.
  const kept = dropped(
    fitted ? all.filter(({ rank, texts }) => rank === 0 || texts.some((text) => text !== '')) : all,
    style.width,
  )
  const widths = fitted ? shared(kept, style.width) : kept.map(({ natural }) => natural)
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, index) => (kept[index]!.kind === 'number' ? padStart : padEnd)(text, widths[index]!))
      .join(' '.repeat(gap))
      .trimEnd()
  const cut = ({ kind }: Measured, text: string, width: number): string =>
    kind === 'identifier' || kind === 'number' ? cutMiddle(text, width) : cutEnd(text, width)
  const { head = (text: string): string => text } = style
  const lines = style.headers ? [head(line(kept.map(({ name }, index) => cutEnd(name, widths[index]!))))] : []
  for (let row = 0; row < rows.length; row++)
    lines.push(line(kept.map((column, index) => cut(column, column.texts[row]!, widths[index]!))))
  return lines
}

function measured<Row>({ name, rank, kind, value }: Column<Row>, rows: readonly Row[], style: TableStyle): Measured {
  const texts = rows.map((row) => toText(kind, value(row), style))
  const head = style.headers ? name.length : 0
  const widest = texts.reduce((most, text) => Math.max(most, widthOf(text)), head)
  const cuttable = kind === 'text' || kind === 'identifier'
  const natural = cuttable && Number.isFinite(style.width) ? Math.max(head, Math.min(widest, mostText)) : widest
  return { name, rank, kind, texts, natural, least: cuttable ? Math.min(natural, Math.max(leastText, head)) : natural }
}

/** Drops the least important columns until the others fit, if each is as narrow as it may be. */
function dropped(columns: readonly Measured[], width: number): readonly Measured[] {
  const needed = columns.reduce((sum, { least }) => sum + least + gap, -gap)
  const last = columns.toReversed().toSorted((left, right) => right.rank - left.rank)[0]
  if (needed <= width || last === undefined || last.rank === 0) return columns
  return dropped(
    columns.filter((column) => column !== last),
    width,
  )
}

/** Gives each column its least width, and what is left to those that want more, the first ones first by turns. */
function shared(columns: readonly Measured[], width: number): number[] {
  const widths = columns.map(({ least }) => least)
  let left = width - widths.reduce((sum, each) => sum + each + gap, -gap)
  // Only columns that are never dropped are left, and they are too wide: the widest gives way.
  while (left < 0) {
    const widest = widths.indexOf(Math.max(...widths))
    if (widths[widest]! <= 1) break
    widths[widest]!--
    left++
  }
  while (left > 0) {
    const wanting = columns.map((_, index) => index).filter((index) => widths[index]! < columns[index]!.natural)
    if (wanting.length === 0) break
    for (const index of wanting.slice(0, left)) widths[index]!++
    left -= Math.min(wanting.length, left)
  }
  return widths
}
