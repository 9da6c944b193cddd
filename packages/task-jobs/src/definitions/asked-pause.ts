import { isTaskError } from '@taskstream/task-api'
import type { RetryPolicy } from '@taskstream/task-processor'

/** Makes a policy whose pauses are at least as long as a service asks for. The policy still says how often a job is tried. */
export function withAskedPause(retry: RetryPolicy): RetryPolicy {
  return (failed, error, draw) => {
    const afterMs = retry(failed, error, draw)
    const askedMs = isTaskError(error, 'REQUEST_FAILED') ? error.data['retryAfterMs'] : undefined
    return afterMs === undefined || typeof askedMs !== 'number' ? afterMs : Math.max(afterMs, askedMs)
  }
}

/** A service that asks for more has set its clock wrong, or means somebody else. */
const longestMs = 86_400_000

/**
 * Reads the header Retry-After: seconds, or a date in the one form that HTTP still writes.
 *
 * @returns milliseconds, 0 to one day; undefined if the header is neither
 */
export function askedPauseMs(header: string | null): number | undefined {
  const text = header?.trim() ?? ''
  const askedMs = /^\d+$/.test(text) ? Number(text) * 1_000 : httpDate.test(text) ? Date.parse(text) - Date.now() : Number.NaN
  return Number.isNaN(askedMs) ? undefined : Math.min(longestMs, Math.max(0, Math.round(askedMs)))
}

const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
