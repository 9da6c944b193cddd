import { isTaskError } from '@taskstream/task-api'

/** Waits no longer once the signal has aborted: not every driver says that a connection was closed under a statement. */
export async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason as Error)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
    work.catch(() => {})
  }
}

/** Whether an error only says that the signal has aborted: it is the reason, or has it as its cause, or is an equal one. */
export function isReason(error: unknown, { reason }: AbortSignal): boolean {
  return error === reason || (error instanceof Error && error.cause === reason) || isTaskError(error, 'LEADERSHIP_LOST')
}
