import type { Misfire } from '@taskstream/task-api'
import type { ClockJobLatePolicy } from '../clock-jobs/job.ts'

/** Translates the `whenLate` of a job into the options of a periodic task. */
export function misfireOf(
  whenLate: ClockJobLatePolicy,
  waitingTimeMs: number,
): { readonly misfire: Misfire; readonly lateMs?: number } {
  return whenLate === 'wait' ? { misfire: 'catch-up' } : { misfire: 'drop', lateMs: waitingTimeMs }
}
