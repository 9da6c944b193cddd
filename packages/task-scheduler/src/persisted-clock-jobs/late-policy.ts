import type { Misfire } from '@taskstream/task-api'
import type { ClockJobLatePolicy } from '../clock-jobs/job.ts'

/** What jobs say of a fire that is late, in the words of timers. */
export function misfireOf(
  whenLate: ClockJobLatePolicy,
  waitingTimeMs: number,
): { readonly misfire: Misfire; readonly lateMs?: number } {
  return whenLate === 'wait' ? { misfire: 'catch-up' } : { misfire: 'drop', lateMs: waitingTimeMs }
}
