/** Every code a `TaskError` may carry, and what it means. */
export const taskErrorCodes = {
  /**
   * A value given to a verb is not one it takes, or has a name that nobody knows: `data.argument` names it, and `data.suggestion` the name
   * that may be meant. Nothing was written.
   */
  ARGUMENT_INVALID: 'ARGUMENT_INVALID',
  /** A timer's expression cannot be read: `data.expression`, `data.position`, and `data.suggestion` if one comes to mind. */
  TIMER_INVALID: 'TIMER_INVALID',
  /** The topic was never initialised, or was destroyed: `data.topic`. An unknown topic is not an empty one: every verb that looks for its tasks says so. */
  TOPIC_UNKNOWN: 'TOPIC_UNKNOWN',
  /** The topic is there with another order or condition: `data.topic`, `data.expected`, `data.found`. */
  TOPIC_DIFFERENT: 'TOPIC_DIFFERENT',
  /** The topic is in use, and the command is for topics that are not: `data.topic`. */
  TOPIC_IN_USE: 'TOPIC_IN_USE',
  /** The topic's partition was being detached and that did not end: finish it with `detachPartition`. */
  PARTITION_DETACHING: 'PARTITION_DETACHING',
  /** The verb finds tasks by identifier, and the topic was not initialised with `keyed`, which it cannot become: `data.topic`. */
  TOPIC_NOT_KEYED: 'TOPIC_NOT_KEYED',
  /** There is no timer of this id in this scope: `data.scope`, `data.id`. */
  TIMER_UNKNOWN: 'TIMER_UNKNOWN',
  /** There is a timer of this id in this scope already: `data.scope`, `data.id`. */
  TIMER_DUPLICATE: 'TIMER_DUPLICATE',
  /** One timer was asked for, and there are several: `data.scope`, `data.name`. */
  TIMER_AMBIGUOUS: 'TIMER_AMBIGUOUS',
  /** An input is not as its schema says, or is no JSON: `data.name`, `data.issues`. */
  INPUT_INVALID: 'INPUT_INVALID',
  /** A task is not in a state that the verb takes: `data.tasks`. */
  TASK_STATE: 'TASK_STATE',
  /** The transaction's isolation level is one under which the verb cannot keep its promise: `data.found`, `data.needed`. */
  ISOLATION_UNSUPPORTED: 'ISOLATION_UNSUPPORTED',
  /** The repository's owner is not registered: `data.owner`. */
  OWNER_UNKNOWN: 'OWNER_UNKNOWN',
  /** One task stands twice in one completion: `data.task`. */
  TASK_DUPLICATE: 'TASK_DUPLICATE',
  /** Under `strict`: tasks are no longer held: `data.lost`. */
  TASK_LOST: 'TASK_LOST',
  /** A handler of batches returned nothing, and has not completed its batch by `context.complete`: `data.topic`. */
  DECISIONS_MISSING: 'DECISIONS_MISSING',
  /** A decision was given for a task that is not of the batch: `data.task`. */
  TASK_UNKNOWN: 'TASK_UNKNOWN',
  /** The transaction is over, or was aborted by an earlier error. */
  TRANSACTION_CLOSED: 'TRANSACTION_CLOSED',
  /** The database went away, or cannot be reached. What the transaction wrote is not committed, or its commit is unknown. */
  DATABASE_UNAVAILABLE: 'DATABASE_UNAVAILABLE',
  /** There is no such database, or a SQLite file cannot be opened or is none. */
  DATABASE_MISSING: 'DATABASE_MISSING',
  /** The server does not let this user in: the name or the password is wrong, or it may not connect from here. */
  AUTHENTICATION_FAILED: 'AUTHENTICATION_FAILED',
  /**
   * The user may not do this in the database, or is kept from rows by row security: `data.needed` is what to grant, where that is known, and
   * `data.tables` whose rows are hidden. What the transaction wrote is not committed.
   */
  PERMISSION_DENIED: 'PERMISSION_DENIED',
  /** The server takes no writes: it is a standby, or set to read only. Nothing was written: go to the primary. A SQLite file: this process may not write it. */
  DATABASE_READ_ONLY: 'DATABASE_READ_ONLY',
  /**
   * Another transaction was in the way: a deadlock, or at REPEATABLE READ and SERIALIZABLE a row that changed since the transaction
   * began. Nothing was written: roll back, and run the whole transaction again.
   */
  TRANSACTION_CONFLICT: 'TRANSACTION_CONFLICT',
  /** A handler did not let go of its transaction in time: it is rolled back, and its connection is not used again. */
  TRANSACTION_ABANDONED: 'TRANSACTION_ABANDONED',
  /** The pool cannot open as many transactions at a time as a node may need: `data.found`, `data.needed`. */
  POOL_TOO_SMALL: 'POOL_TOO_SMALL',
  /**
   * The database has no room or no time for this now: `data.shortOf` is a `Shortage`. Nothing was written, unless a commit was under way:
   * roll back, and run the whole transaction again a little later.
   */
  DATABASE_BUSY: 'DATABASE_BUSY',
  /** A notifier gave up: it listens, and is told nothing. Tasks are found by polling. */
  NOTIFICATIONS_UNDELIVERED: 'NOTIFICATIONS_UNDELIVERED',
  /** There are no tables: run `migrate`. */
  SCHEMA_MISSING: 'SCHEMA_MISSING',
  /** The tables are of an earlier release: run `migrate`. */
  SCHEMA_OLDER: 'SCHEMA_OLDER',
  /** The tables are of a later release: upgrade the package. */
  SCHEMA_NEWER: 'SCHEMA_NEWER',
  /** New tasks would be numbered as old ones are, after a restore or a promotion: run `taskstream repair`, or `tasks.repair(tx)`. */
  SEQUENCE_BEHIND: 'SEQUENCE_BEHIND',
  /** A number in the database is beyond 2^53. */
  NUMBER_UNSAFE: 'NUMBER_UNSAFE',
  /** This version of Node.js, of a driver or of a database is not supported: `data.found`, `data.needed`. */
  RUNTIME_UNSUPPORTED: 'RUNTIME_UNSUPPORTED',
  /** Reason of an abort: the owner's lease ran out, so that others may have taken the tasks over. */
  LEASE_LOST: 'LEASE_LOST',
  /** Reason of an abort: the handler took longer than it may: `data.timeoutMs`. */
  TASK_TIMEOUT: 'TASK_TIMEOUT',
  /** Reason of an abort: the processor is stopping and its grace is over. */
  SHUTDOWN: 'SHUTDOWN',
  /** A supplement is there already: `data.token`, `data.task`, `data.qualifier`. */
  SUPPLEMENT_DUPLICATE: 'SUPPLEMENT_DUPLICATE',
  /** A supplement was never registered, or is still being computed: `data.token`, `data.task`, `data.qualifier`. */
  SUPPLEMENT_MISSING: 'SUPPLEMENT_MISSING',
  /** Under test: tasks are still ready after so many rounds of a drain: `data.topic`, `data.rounds`, `data.tasks`. They were handed back. */
  DRAIN_ENDLESS: 'DRAIN_ENDLESS',
  /** There is no job of that id, or no longer: `data.id`; or the service is not attached to the listener. */
  JOB_UNKNOWN: 'JOB_UNKNOWN',
  /** There is a job of that id already, or a service of that name: `data.id`. */
  JOB_DUPLICATE: 'JOB_DUPLICATE',
  /** The thread of a heartbeat cannot start, or has ended by an error: `data.module`. */
  THREAD_FAILED: 'THREAD_FAILED',
  /** Something is asked of a node, manager, scheduler or listener that its state does not allow, such as a second start. */
  LIFECYCLE: 'LIFECYCLE',
} as const

export type TaskErrorCode = keyof typeof taskErrorCodes

/**
 * What a database that is busy is short of: a free connection, memory, room on the disk, another resource of its machine; a lock that others
 * hold; or time, as a statement was cancelled, or took longer than it may.
 */
export type Shortage = 'connections' | 'memory' | 'disk' | 'resources' | 'lock' | 'time'

/**
 * The one error of taskstream: what went wrong in `code`, which one in `data`, what to do in the message.
 *
 * @example
 * try { await tasks.push(tx, 'invioces', 'inv-1') }
 * catch (error) { if (isTaskError(error, 'TOPIC_UNKNOWN')) console.log(error.data.topic) }
 */
export class TaskError extends Error {
  readonly code: TaskErrorCode
  readonly data: Readonly<Record<string, unknown>>

  constructor(code: TaskErrorCode, message: string, data: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TaskError'
    this.code = code
    this.data = data
  }
}

/** Whether `error` is a `TaskError`, and of that code if one is given. */
export function isTaskError(error: unknown, code?: TaskErrorCode): error is TaskError {
  return error instanceof TaskError && (code === undefined || error.code === code)
}

const passingCodes: ReadonlySet<TaskErrorCode> = new Set([
  'DATABASE_UNAVAILABLE',
  'DATABASE_READ_ONLY',
  'DATABASE_BUSY',
  'TRANSACTION_CONFLICT',
])

/**
 * Whether an error is of the moment and not of the work: the same transaction, run again a little later, may succeed. A node repeats what it
 * has to write after such an error, and charges no task with it.
 *
 * @example
 * try { await transactions(work) }
 * catch (error) { if (isPassing(error)) later(work); else throw error }
 */
export function isPassing(error: unknown): error is TaskError {
  return error instanceof TaskError && passingCodes.has(error.code)
}
