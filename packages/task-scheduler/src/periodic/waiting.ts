import { statuses } from './columns.ts'
import type { Status, Values } from './columns.ts'
import type { Firing } from './firing.ts'

/** Columns that say what a timer waits for: only a running one waits. */
export function waiting(status: Status, { next, ended }: Firing): Values {
  const shown: Status = status === 'running' && !next ? 'ended' : status
  return {
    status: statuses.indexOf(shown),
    note: shown === 'ended' ? (ended ?? null) : null,
    occurrence: shown === 'running' ? next!.occurrence : null,
    due: shown === 'running' ? next!.due : null,
  }
}
