/** Bars as an SVG that can be read on light and dark ground: a block with its own scale for each scenario, a bar for each subject. */
import type { Row } from './rows.ts'

const colours: Readonly<Record<string, string>> = {
  taskstream: '#2f7de1',
  'pg-boss': '#c8792b',
  'graphile-worker': '#5f9a3c',
  'BullMQ, no AOF': '#b0508f',
  'BullMQ, AOF': '#7d3a6c',
  limit: '#8b9199',
}
export const width = 760
const margin = 16
const labelWidth = 130
const figureWidth = 110
const barHeight = 18
const barGap = 5
const headHeight = 24
const blockGap = 16

export function chart(title: string, rows: readonly Row[]): string {
  let y = margin + 18
  const parts = [`<text class="title" x="${margin}" y="${y}">${escape(title)}</text>`]
  y += blockGap
  for (const [scenario, bars] of Map.groupBy(rows, (row) => row.scenario)) {
    parts.push(...block(scenario, bars, y))
    y += headHeight + bars.length * (barHeight + barGap) + blockGap
  }
  return frame(title, y, parts)
}

export function frame(title: string, height: number, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escape(title)}</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 16px; font-weight: 600 }
.head { font-weight: 600 }
.unit { fill: #6e7781 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .unit { fill: #9198a1 } }
</style>
${parts.join('\n')}
</svg>
`
}

function block(scenario: string, bars: readonly Row[], top: number): string[] {
  const [{ unit, engine } = { unit: '', engine: '' }] = bars
  const most = Math.max(...bars.map(({ median }) => median))
  const room = width - 2 * margin - labelWidth - figureWidth
  const head = `<text class="head" x="${margin}" y="${top + 14}">${escape(scenario)} <tspan class="unit">${escape(`${unit}, ${engine}`)}</tspan></text>`
  const lines = bars.flatMap(({ subject, median }, index) => {
    const y = top + headHeight + index * (barHeight + barGap)
    const length = most > 0 ? Math.max(1, (median / most) * room) : 1
    const x = margin + labelWidth
    return [
      `<text x="${margin}" y="${y + 13}">${escape(subject)}</text>`,
      `<rect x="${x}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="2" fill="${colours[subject] ?? '#8b9199'}"/>`,
      `<text x="${(x + length + 6).toFixed(1)}" y="${y + 13}">${figure(median)}</text>`,
    ]
  })
  return [head, ...lines]
}

/** Rounds to three significant digits, or to whole numbers from 100 on, with separated thousands. */
export function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en').replaceAll(',', '\u202F') : String(Number(value.toPrecision(3)))
}

export function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
