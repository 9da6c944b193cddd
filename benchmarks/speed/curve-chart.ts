/** Lines in an SVG that show how costs grow: a line for each series, with steps by ten from point to point. */
import { escape, figure, frame, width } from './chart.ts'
import type { Row } from './rows.ts'

const colours = ['#2f7de1', '#c8792b', '#5f9a3c']
const left = 100
const right = 80
const top = 56
const plotHeight = 220

/** Each row is named like `backlog of 10k` or `100 topics`. */
export function curveChart(title: string, rows: readonly Row[]): string {
  const lines = [...Map.groupBy(rows, ({ scenario }) => scenario.replace(/ of \S+$|^\d+ /, ''))]
  const most = Math.max(...rows.map(({ median }) => median)) * 1.1
  const steps = Math.max(...lines.map(([, points]) => points.length))
  const x = (index: number): number => left + (index * (width - left - right)) / Math.max(1, steps - 1)
  const y = (value: number): number => top + plotHeight * (1 - value / most)
  const text = (at: readonly [number, number], words: string, rest = ''): string =>
    `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}"${rest}>${escape(words)}</text>`
  const parts = [
    text([16, 34], title, ' class="title"'),
    ...[0, 0.5, 1].flatMap((share) => {
      const value = (most / 1.1) * share
      return [
        `<path d="M${left} ${y(value).toFixed(1)}H${width - right}" stroke="#8b9199" stroke-width="0.5"/>`,
        text([left - 8, y(value) + 4], `${figure(value)}${share === 1 ? ` ${rows[0]?.unit ?? ''}` : ''}`, ' text-anchor="end"'),
      ]
    }),
    ...lines.flatMap(([, points], line) => {
      const colour = colours[line % colours.length]!
      const path = points.map(({ median }, index) => `${index === 0 ? 'M' : 'L'}${x(index).toFixed(1)} ${y(median).toFixed(1)}`)
      const labels = points.map(({ scenario, median }, index) =>
        text(
          [x(index), top + plotHeight + 20 + line * 18],
          `${scenario.replace(' of ', ' ')}: ${figure(median)}`,
          ` text-anchor="middle" style="fill:${colour}"`,
        ),
      )
      return [`<path d="${path.join('')}" fill="none" stroke="${colour}" stroke-width="2.5"/>`, ...labels]
    }),
  ]
  return frame(title, top + plotHeight + 28 + lines.length * 18, parts)
}
