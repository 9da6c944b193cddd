/** The time of a try that was given with the push is a header of the task. */
import { checkInteger } from '@taskstream/task-api'
import type { TaskHeaders, TaskInfo } from '@taskstream/task-api'

const header = 'timeoutMs'
export const longestTimeoutMs = 86_400_000

/** @throws TaskError ARGUMENT_INVALID */
export function timeoutHeader(timeoutMs: number | undefined): TaskHeaders | undefined {
  if (timeoutMs === undefined) return undefined
  checkInteger('timeoutMs', timeoutMs, 1, longestTimeoutMs)
  return { [header]: timeoutMs }
}

/** How long one try may take, as its push has said. A task that was pushed in another way may have anything in its place. */
export function timeoutOf({ headers }: Pick<TaskInfo, 'headers'>): number | undefined {
  const timeoutMs = headers?.[header]
  if (!Number.isInteger(timeoutMs)) return undefined
  return (timeoutMs as number) >= 1 && (timeoutMs as number) <= longestTimeoutMs ? (timeoutMs as number) : undefined
}
