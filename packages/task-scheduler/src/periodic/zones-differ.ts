import type { TimerKey } from '@taskstream/task-api'
import type { Schedule } from './schedule.ts'

/** An occurrence that another node has found, and this one would not have: their time zone data is not of one release. */
export interface ZonesDiffer {
  readonly timer: TimerKey
  /** What the other node has found, and is submitted. */
  readonly occurrence: Date
  /** What this node has instead; undefined: nothing more. */
  readonly here?: Date
  /** The release of this node's time zone data, such as `2026a`, if it is known. */
  readonly data?: string
}

/** By the occurrence itself: a difference that changes none is none. */
export function zonesDiffer({ scope, id, timer }: Schedule, occurrence: number): ZonesDiffer | undefined {
  if (timer.zone === 'UTC') return undefined
  const here = timer.next(occurrence - 1)
  if (here === occurrence) return undefined
  const data = process.versions['tz']
  return {
    timer: { scope, id },
    occurrence: new Date(occurrence),
    ...(here !== undefined && { here: new Date(here) }),
    ...(data !== undefined && { data }),
  }
}
