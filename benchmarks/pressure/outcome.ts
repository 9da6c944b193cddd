/** Computes the figures of a scenario from what was pushed and what was done. */
import type { Effect } from './tables.ts'

/** Moments of a scenario, in epoch milliseconds. */
export interface Phases {
  readonly before: number
  readonly fault: number
  /** When the last damage was over. */
  readonly lifted: number
  readonly after: number
  readonly end: number
}

export interface Latency {
  readonly jobs: number
  readonly p50: number | null
  readonly p99: number | null
  readonly most: number | null
}

export interface Outcome {
  /** Jobs done a second: the median of whole seconds before and after the fault, and the mean during it. */
  readonly before: number
  readonly during: number
  readonly after: number
  /** Milliseconds from the end of the damage until half a second had nine tenths of the rate before. Null: never. */
  readonly recoveryMs: number | null
  /**
   * Milliseconds from push to effect, of the jobs that were done before the fault, of those that were in the queue during some of it, and of those
   * pushed after it. Null: such a job was never done.
   */
  readonly calm: Latency
  readonly latency: Latency
  readonly afterwards: Latency
  /** Of the jobs in the queue during the fault, those whose first attempt was the last, and the others. */
  readonly first: Latency
  readonly repeated: Latency
  /** Jobs with more than one effect. */
  readonly twice: number
  /** Acknowledged jobs without an effect. */
  readonly missing: number
}

const windowMs = 500
const stepMs = 100
const recovered = 0.9

export function outcomeOf(
  phases: Phases,
  accepted: readonly (readonly [id: number, pushed: number])[],
  effects: Effect[],
): Outcome {
  const times = effects.map(({ done }) => done)
  const firsts = new Map<number, Effect>()
  for (const effect of effects.toSorted((left, right) => left.done - right.done))
    if (!firsts.has(effect.job)) firsts.set(effect.job, effect)
  const before = medianRate(times, phases.before, phases.fault)
  const pushes = accepted.map(([id, pushed]) => ({ pushed, effect: firsts.get(id) }))
  const pushedIn = (from: number, to: number): typeof pushes => pushes.filter(({ pushed }) => pushed >= from && pushed < to)
  const isCalm = ({ effect }: (typeof pushes)[number]): boolean => effect !== undefined && effect.done < phases.fault
  const disturbed = pushedIn(phases.before, phases.after).filter((push) => !isCalm(push))
  return {
    before,
    during: ratio(within(times, phases.fault, phases.after), phases.after - phases.fault),
    after: medianRate(times, phases.after, phases.end),
    recoveryMs: recovery(times, phases, before),
    calm: latencyOf(pushedIn(phases.before, phases.fault).filter(isCalm)),
    latency: latencyOf(disturbed),
    afterwards: latencyOf(pushedIn(phases.after, phases.end)),
    first: latencyOf(disturbed.filter(({ effect }) => effect?.attempt === 1)),
    repeated: latencyOf(disturbed.filter(({ effect }) => effect && effect.attempt > 1)),
    twice: new Set(effects.filter((effect) => firsts.get(effect.job) !== effect).map(({ job }) => job)).size,
    missing: pushes.filter(({ effect }) => !effect).length,
  }
}

const within = (times: readonly number[], from: number, to: number): number =>
  times.filter((time) => time >= from && time < to).length
const ratio = (count: number, ms: number): number => (count * 1_000) / ms

function medianRate(times: readonly number[], from: number, to: number): number {
  const seconds = Math.max(1, Math.floor((to - from) / 1_000))
  const counts = Array.from({ length: seconds }, (_, index) => within(times, from + index * 1_000, from + (index + 1) * 1_000))
  return counts.toSorted((left, right) => left - right)[Math.floor(seconds / 2)]!
}

function recovery(times: readonly number[], { lifted, end }: Phases, before: number): number | null {
  for (let from = lifted; from + windowMs <= end; from += stepMs)
    if (ratio(within(times, from, from + windowMs), windowMs) >= recovered * before) return from - lifted
  return null
}

function latencyOf(jobs: readonly { pushed: number; effect: Effect | undefined }[]): Latency {
  const sorted = jobs
    .map(({ pushed, effect }) => (effect ? effect.done - pushed : Infinity))
    .toSorted((left, right) => left - right)
  const percentile = (share: number): number | null => {
    const ms = sorted[Math.ceil(share * sorted.length) - 1]
    return ms === undefined || ms === Infinity ? null : ms
  }
  return { jobs: sorted.length, p50: percentile(0.5), p99: percentile(0.99), most: percentile(1) }
}
