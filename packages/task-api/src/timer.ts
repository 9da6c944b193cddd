/** Which timer. */
export interface TimerKey {
  readonly scope: string
  /** Unique in its scope. */
  readonly id: string
}

/** The same text for the same timer, and for no other. */
export function timerKey({ scope, id }: TimerKey): string {
  return JSON.stringify([scope, id])
}

/**
 * What becomes of occurrences that no scheduler was there for.
 *
 * - `once`: however many were missed, one task is submitted, for the first of them
 * - `skip`: as `once`, but nothing that is late by more than `lateMs`, 60 s if that is not given
 * - `catch-up`: each is submitted, in order, but for those that are late by more than `lateMs`
 * - `drop`: each is submitted, in order; but if the first is late by more than `lateMs`, 60 s if that is not given, all that were missed are dropped
 */
export type Misfire = (typeof misfires)[number]
export const misfires = ['once', 'skip', 'catch-up', 'drop'] as const

/** What becomes of an occurrence while the task before has not ended: it is passed over, or submitted all the same. */
export type WhileUnfinished = (typeof overlaps)[number]
export const overlaps = ['skip', 'push'] as const

/** `ended`: it will never fire again. Only a running timer waits for something. */
export type TimerStatus = (typeof timerStatuses)[number]
export const timerStatuses = ['running', 'paused', 'ended'] as const

/** What is said of a timer, as it is kept: null where nothing is said, instants in epoch milliseconds. */
export interface TimerDefinition {
  readonly name: string | null
  /** The text of its timer. A repository keeps it and does not read it. */
  readonly timer: string
  readonly summary: string | null
  readonly topic: string
  readonly identifier: string
  readonly input: string | null
  /** The text of a JSON object. */
  readonly headers: string | null
  readonly priority: number
  readonly maxTries: number | null
  readonly misfire: Misfire
  readonly lateMs: number | null
  readonly whileUnfinished: WhileUnfinished
  readonly jitterMs: number
  readonly start: number | null
  readonly end: number | null
  readonly maxCount: number | null
}

/** What a timer waits for, in epoch milliseconds. */
export interface TimerWait {
  readonly status: TimerStatus
  /** Why it has ended. */
  readonly note: string | null
  /** The next occurrence. Null unless the timer is running. */
  readonly occurrence: number | null
  /** When that occurrence is submitted, which is not before it. Null unless the timer is running. */
  readonly due: number | null
}

/** What a timer has done. */
export interface TimerHistory {
  /** How many tasks the clock has submitted. */
  readonly fired: number
  /** How many occurrences were passed over because the task before had not ended. */
  readonly skipped: number
  /** Where the last task was pushed to, by the clock or by hand. */
  readonly lastTopic: string | null
  readonly lastSequence: number | null
  /** Null where the last task was submitted by hand. */
  readonly lastOccurrence: number | null
}

/** A timer that is added. What it has done begins with nothing. */
export interface NewTimer extends TimerKey, TimerDefinition, TimerWait {
  /** Who has declared it. */
  readonly application: string | null
  readonly created: number
  readonly changed: number
}

/** A timer as it is kept. */
export interface StoredTimer extends NewTimer, TimerHistory {
  /** What time it was when the timer was read, by the clock that says what is due, in epoch milliseconds. */
  readonly now: number
}

/** What is changed of a timer: what is not there stays. */
export type TimerChange = Partial<Omit<StoredTimer, keyof TimerKey | 'created' | 'now'>>
