import type { TimerStatus, TimerWait } from '@taskstream/task-api'
import type { After } from './firing.ts'

/** What a timer waits for: only a running one waits. */
export function waiting(status: TimerStatus, { next, ended }: After): TimerWait {
  const shown: TimerStatus = status === 'running' && !next ? 'ended' : status
  return {
    status: shown,
    note: shown === 'ended' ? (ended ?? null) : null,
    occurrence: shown === 'running' ? next!.occurrence : null,
    due: shown === 'running' ? next!.due : null,
  }
}
