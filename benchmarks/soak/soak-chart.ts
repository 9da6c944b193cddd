/** Draws how a soak went: a line for each figure, one below the other, over the same hours. */
import { escape, figure, frame, width } from '../speed/chart.ts'
import type { Sample } from './setting.ts'

const panels: readonly (readonly [label: string, of: (sample: Sample) => number])[] = [
  ['tasks done a second', ({ done }) => done],
  ['latency, median, ms', ({ p50Ms }) => p50Ms],
  ['latency, 99th percentile, ms', ({ p99Ms }) => p99Ms],
  ['memory of the process, MiB', ({ rssMb }) => rssMb],
  ['open handles', ({ handles }) => handles],
  ['table and indexes, MiB', ({ tableMb }) => tableMb],
  ['dead rows', ({ deadRows }) => deadRows],
]
const [left, right, top, height, gap] = [90, 30, 56, 60, 34]

export function soakChart(title: string, samples: readonly Sample[]): string {
  const last = samples.at(-1)?.minutes ?? 1
  const x = (minutes: number): number => left + (minutes / last) * (width - left - right)
  const parts = panels.flatMap(([label, of], panel) => {
    const from = top + panel * (height + gap)
    const most = Math.max(1, ...samples.map(of))
    const path = samples.map(
      (sample, index) =>
        `${index === 0 ? 'M' : 'L'}${x(sample.minutes).toFixed(1)} ${(from + height * (1 - of(sample) / most)).toFixed(1)}`,
    )
    return [
      `<text class="head" x="${left}" y="${from - 8}">${escape(label)}</text>`,
      `<path d="M${left} ${from + height}H${width - right}" stroke="#8b9199" stroke-width="0.5"/>`,
      `<text class="unit" x="${left - 8}" y="${from + 8}" text-anchor="end">${figure(most)}</text>`,
      `<text class="unit" x="${left - 8}" y="${from + height}" text-anchor="end">0</text>`,
      `<path d="${path.join('')}" fill="none" stroke="#2f7de1" stroke-width="1.5"/>`,
    ]
  })
  const bottom = top + panels.length * (height + gap)
  return frame(title, bottom + 20, [
    `<text class="title" x="16" y="26">${escape(title)}</text>`,
    ...parts,
    `<text class="unit" x="${width - right}" y="${bottom}" text-anchor="end">${(last / 60).toFixed(2)} hours</text>`,
  ])
}
