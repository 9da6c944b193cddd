import type { TimerKey } from '@taskstream/task-api'
import type { Schedule } from './schedule.ts'

/** An occurrence that another node has found and this node would not have found, as their time zone data is of different releases. */
export interface ZonesDiffer {
  readonly timer: TimerKey
  /** The occurrence that the other node has found. It is submitted. */
  readonly occurrence: Date
  /** The occurrence that this node would have found instead. Undefined if there is none. */
  readonly here?: Date
  /** The release of this node's time zone data, such as `2026a`. Undefined if it is not known. */
  readonly data?: string
}

/** Compares the occurrence only. A difference of the data that does not change the occurrence is not reported. */
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
