import type { TaskReason, TaskState } from './task-state.ts'

/** A value of a header: whatever JSON can express. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/**
 * Small facts that travel with a task, such as its type, its tags or a trace context. At most 65 536 characters as JSON. The payload belongs in
 * `input`.
 */
export type TaskHeaders = Readonly<Record<string, JsonValue>>

/** A task: one row of a topic. Two values stand for the same task if topic, sequence and identifier are equal. */
export interface Task {
  readonly topic: string
  /** The number of the task in its database. Later pushes get greater numbers, with gaps. A safe integer. */
  readonly sequence: number
  /** What the task is about, such as an order or a customer. Several tasks of a topic may share an identifier. */
  readonly identifier: string
}

/** Where a task is found. */
export type TaskKey = Pick<Task, 'topic' | 'sequence'>

/**
 * Proof that a task is held. `poll` hands it out; `hold`, `complete` and `handBack` ask for it. The value is opaque: do not read, compare or compute
 * it, because its content may change. It survives `JSON.stringify` and `JSON.parse`.
 */
export interface TaskLease {
  readonly [lease]: never
}
declare const lease: unique symbol

/** A task that `poll` took for this owner, with the fields that a handler needs. */
export interface HeldTask extends Task {
  readonly lease: TaskLease
  /** How often the task was taken, this time included. The number never decreases. */
  readonly attempt: number
  /** How many of the attempts count towards `maxTries`. A task that is handed back gets its try back. */
  readonly tries: number
  readonly maxTries?: number
  readonly input?: string
  readonly reference?: string
  readonly externalId?: string
  readonly priority: number
  readonly headers?: TaskHeaders
  /** After this instant no poll hands the task out any more. */
  readonly deadline?: Date
}

/** Everything that the repository knows of a task. Instants are in UTC, by the database's clock. */
export interface TaskInfo extends Task {
  readonly state: TaskState
  /**
   * The state before the task was recreated, made redundant or reassigned; otherwise the state in which its row began. Of these two it is the one that
   * comes later in `taskStates`, if the row began suspended.
   */
  readonly descent: TaskState
  readonly reason?: TaskReason
  readonly attempt: number
  readonly tries: number
  readonly maxTries?: number
  /** The owner that holds the task, or held it last. Cleared when the task is handed back, reset, or taken from a dead owner to be ready. */
  readonly owner?: string
  readonly input?: string
  /** The message of the task's decision, at most 65 536 characters. */
  readonly output?: string
  readonly reference?: string
  readonly externalId?: string
  readonly priority: number
  readonly headers?: TaskHeaders
  readonly created: Date
  readonly started?: Date
  readonly completed?: Date
  /** The instant before which a suspended task does not become ready. Filters and counts call a task with a due time `delayed`. */
  readonly due?: Date
  /** True for a task that waits for others (`depend`). Such a task is suspended. */
  readonly blocked?: boolean
  readonly deadline?: Date
}

/** A task to push. A field of any other name is refused, so that a misspelt field is not silently ignored. */
export interface TaskCreation {
  /** 1 to 500 characters. */
  readonly identifier: string
  /** The payload, up to 16 777 216 characters. A blank input counts as absent. */
  readonly input?: string
  /** A note to find the task by, up to 500 characters. A blank reference counts as absent. */
  readonly reference?: string
  /**
   * The producer's own name for this one task, 1 to 500 characters, unique in its topic. A second push of the same external id creates nothing
   * and returns the first task. So a push whose commit went unanswered can be repeated.
   */
  readonly externalId?: string
  /** Whether the task is pushed suspended: no poll takes it until somebody revives it or a junction starts it. Default false. */
  readonly suspended?: boolean
  /** No poll takes the task before this instant, unless somebody revives it sooner. Ignored for a suspended task. Not together with `delayMs`. */
  readonly due?: Date
  /** For how many milliseconds no poll takes the task, by the database's clock; 0 to 100 years. As `due`, and not together with it. */
  readonly delayMs?: number
  /** From this instant on a poll filters the task, with the reason `deadline`, and does not hand it out. Not together with `deadlineMs`. */
  readonly deadline?: Date
  /** The deadline in milliseconds from now, by the database's clock; 0 to 100 years. Not together with `deadline`. */
  readonly deadlineMs?: number
  /** From -32 767 to 32 767, default 0. In topics of the order `priority` a higher priority comes sooner. */
  readonly priority?: number
  /** How many tries the task has, 1 to 32 767: a retry after the last one makes the task fail. Default: no limit. */
  readonly maxTries?: number
  readonly headers?: TaskHeaders
}

/** What a push made of one creation. */
export interface PushedTask extends Task {
  /**
   * - `created`: the task is new
   * - `duplicate`: the topic has a task of this `externalId` already; `sequence` and `identifier` are those of the first one
   * - `redundant`: the task is new, and a later creation of the same push superseded or replaced it
   */
  readonly outcome: 'created' | 'duplicate' | 'redundant'
  /** How many older tasks of the identifier became redundant or were deleted. Undefined under `append`. */
  readonly superseded?: number
}

/** Whether two values stand for the same task. */
export function isSameTask(left: Task, right: Task): boolean {
  return left.topic === right.topic && left.sequence === right.sequence && left.identifier === right.identifier
}

/** A key for maps: the same text for the same task, another text for any other task. */
export function taskKey({ topic, sequence, identifier }: Task): string {
  return JSON.stringify([topic, sequence, identifier])
}

/** A task as a line of a log or a message: `invoices/inv-1@42`. */
export function taskToString(task: Task): string {
  return `${task.topic}/${task.identifier}@${task.sequence}`
}
