/** How many batches may be under way at a time. */
export interface TaskLimiter {
  /** Waits for a slot. @returns gives it back; twice is once @throws the signal's reason, when it is aborted before */
  acquire(topic: string, signal: AbortSignal): Promise<() => void>
}

/** No limit. */
export const unlimited: TaskLimiter = { acquire: async () => () => {} }
