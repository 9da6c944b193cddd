import type { TaskReason, TaskState } from './task-state.ts'

/** JSON, as headers carry it. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/** Small facts about a task that travel with it: type, tags, trace context. Not for the payload: that is `input`. */
export type TaskHeaders = Readonly<Record<string, JsonValue>>

/** What is queued: one row of one topic. Two tasks are the same when topic, sequence and identifier are. */
export interface Task {
  readonly topic: string
  /** Position in the topic; ascending in the order of pushing, with gaps. A safe integer. */
  readonly sequence: number
  /** The caller's name for what the task is about. Several tasks of a topic may share it. */
  readonly identifier: string
}

/**
 * What proves that a task is held: given by `poll`, asked for by `hold`, `complete` and `handBack`. Opaque: there is nothing to read, compare or
 * compute, and what it is may change. It outlives `JSON.stringify` and `JSON.parse`.
 */
export interface TaskLease {
  readonly [lease]: never
}
declare const lease: unique symbol

/** A task that `poll` made active for this owner, with what its handler needs. */
export interface HeldTask extends Task {
  readonly lease: TaskLease
  /** How many times the task has been taken up, this time included. Never goes back. */
  readonly attempt: number
  /** How many of those count against `maxTries`: handing a task back refunds its try. */
  readonly tries: number
  readonly maxTries?: number
  readonly input?: string
  readonly reference?: string
  readonly externalId?: string
  readonly priority: number
  readonly headers?: TaskHeaders
  /** After this instant the task is not handed out any more. */
  readonly deadline?: Date
}

/** Everything the repository knows of a task. Instants are the database's clock, UTC. */
export interface TaskInfo extends Task {
  readonly state: TaskState
  /** The former state of a recreated or redundant task; otherwise what its row began as. */
  readonly descent: TaskState
  readonly reason?: TaskReason
  readonly attempt: number
  readonly tries: number
  readonly maxTries?: number
  /** Who holds the task, or held it last. */
  readonly owner?: string
  readonly input?: string
  /** The message of its decision. */
  readonly output?: string
  readonly reference?: string
  readonly externalId?: string
  readonly priority: number
  readonly headers?: TaskHeaders
  readonly created: Date
  readonly started?: Date
  readonly completed?: Date
  /** When the task becomes ready, if it waits for that: it is `suspended` until then, and `delayed` to filters and counts. */
  readonly due?: Date
  readonly deadline?: Date
}

/** What is to be queued. A field of another name is refused, so that what was meant by it is not left out without a word. */
export interface TaskCreation {
  /** 1 to 500 characters. */
  readonly identifier: string
  /** The payload, up to 16 Mi characters. A blank input is none. */
  readonly input?: string
  /** A caller's tag to find tasks by, up to 500 characters. A blank reference is none. */
  readonly reference?: string
  /**
   * The caller's own id for this very task, 1 to 500 characters, unique in its topic: pushing it again, after a commit
   * whose outcome is unknown, finds the first one and creates nothing.
   */
  readonly externalId?: string
  /** Pushed suspended: not polled until it is revived. */
  readonly suspended?: boolean
  /** Not polled before this instant. */
  readonly due?: Date
  /** Not polled before so many milliseconds have passed on the database's clock; 0 to 100 years. Not together with `due`. */
  readonly delayMs?: number
  /** Polled after this instant, the task is filtered instead, with the reason `deadline`. */
  readonly deadline?: Date
  /** As `deadline`, so many milliseconds from now on the database's clock; 0 to 100 years. Not together with `deadline`. */
  readonly deadlineMs?: number
  /** Smallint, default 0. Higher is sooner in topics that order by it. */
  readonly priority?: number
  /** After so many tries a retry fails instead; 1 to 32767. Without it a task may be retried for ever. */
  readonly maxTries?: number
  readonly headers?: TaskHeaders
}

/**
 * A creation's task. `duplicate`: its `externalId` was there before; `sequence` and `identifier` are the first one's. `redundant`:
 * a later creation of the same push superseded or replaced it.
 */
export interface PushedTask extends Task {
  readonly outcome: 'created' | 'duplicate' | 'redundant'
  /** How many older tasks of its identifier became redundant or were deleted; none under `append`. */
  readonly superseded?: number
}

/** Whether two values stand for the same task. */
export function isSameTask(left: Task, right: Task): boolean {
  return left.topic === right.topic && left.sequence === right.sequence && left.identifier === right.identifier
}

/** The same text for the same task, and for no other. */
export function taskKey({ topic, sequence, identifier }: Task): string {
  return JSON.stringify([topic, sequence, identifier])
}

/** A task as a line of a log or a message: `invoices/inv-1@42`. */
export function taskToString(task: Task): string {
  return `${task.topic}/${task.identifier}@${task.sequence}`
}
