/** Data and messages between the two threads of a `ThreadHeartbeat`. */

export interface ThreadData {
  readonly owner: string
  readonly module: string
  readonly intervalMs: number
  readonly hungMs: number
  /** When the main thread was last alive, and when the last successful beat was sent, in nanoseconds of `process.hrtime`. */
  readonly shared: BigInt64Array
}

/** Whether the last beat came through, and why not: errors lose their class between threads. */
export type ThreadMessage =
  | { readonly beating: true }
  | { readonly beating: false; readonly message: string; readonly code: unknown }

/** The same clock in every thread of a process, unlike `performance.now()`. */
export const hrtimeMs = (nanoseconds: bigint): number => Number(nanoseconds / 1_000n) / 1_000
