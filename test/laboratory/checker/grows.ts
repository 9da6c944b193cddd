/** A rule about what processes use: it does not grow from quiet point to quiet point. */
import type { Event, Measure, Sample, Violation } from './history.ts'
import type { Index } from './index.ts'
import { violation } from './violation.ts'

const mebi = 2 ** 20

/** How much more than early a process may use late. */
const allowed: Readonly<Record<Measure, { readonly factor: number; readonly more: number }>> = {
  heapBytes: { factor: 1.2, more: 4 * mebi },
  // Memory that was freed may stay with the process.
  residentBytes: { factor: 1.3, more: 48 * mebi },
  // A pool opens connections when they are wanted, up to its limit.
  handles: { factor: 1, more: 12 },
  files: { factor: 1, more: 12 },
}

/** Of fewer samples nobody can tell whether they grow. */
const fewest = 6

/** The least of a process's last samples is not far above the most of its first ones. */
export function grows(index: Index): Violation[] {
  const samples = index.history.events.filter((event: Event): event is Sample => event.verb === 'sample')
  return [...Map.groupBy(samples, ({ actor }) => actor)].flatMap(([actor, all]) => {
    if (all.length < fewest) return []
    const part = Math.floor(all.length / 3)
    return (Object.keys(allowed) as Measure[]).flatMap((measure) => {
      const { factor, more } = allowed[measure]
      const early = Math.max(...all.slice(0, part).map((sample) => sample[measure]))
      const late = Math.min(...all.slice(-part).map((sample) => sample[measure]))
      if (late <= factor * early + more) return []
      return [violation('grows', `${measure} of ${actor} have grown from ${early} to ${late}`, { actor })]
    })
  })
}
