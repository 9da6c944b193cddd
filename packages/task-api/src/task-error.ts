/** Every code that a `TaskError` may have, and its meaning. */
export const taskErrorCodes = {
  /**
   * An argument has a value that is not allowed, or an option has an unknown name. `data.argument` names the argument, and `data.suggestion` an
   * option that may have been meant. Nothing was written.
   */
  ARGUMENT_INVALID: 'ARGUMENT_INVALID',
  /** The expression of a timer cannot be read: `data.expression`, `data.position`, and perhaps `data.suggestion`. */
  TIMER_INVALID: 'TIMER_INVALID',
  /** The topic was never initialised, or was destroyed: `data.topic`. Every verb that looks for tasks of an unknown topic throws this. */
  TOPIC_UNKNOWN: 'TOPIC_UNKNOWN',
  /** The topic has another order or condition: `data.topic`, `data.expected`, `data.found`. */
  TOPIC_DIFFERENT: 'TOPIC_DIFFERENT',
  /** The topic is in use, and the command is only for topics that are not: `data.topic`. */
  TOPIC_IN_USE: 'TOPIC_IN_USE',
  /** An earlier call began to detach the topic's partition and did not finish: finish with `detachPartition`. */
  PARTITION_DETACHING: 'PARTITION_DETACHING',
  /** The verb finds tasks by identifier, and the topic was initialised without `keyed`, which cannot be changed: `data.topic`. */
  TOPIC_NOT_KEYED: 'TOPIC_NOT_KEYED',
  /** There is no timer of this id in this scope: `data.scope`, `data.id`. */
  TIMER_UNKNOWN: 'TIMER_UNKNOWN',
  /** There is a timer of this id in this scope already: `data.scope`, `data.id`. */
  TIMER_DUPLICATE: 'TIMER_DUPLICATE',
  /** One timer was asked for, and there are several: `data.scope`, `data.name`. */
  TIMER_AMBIGUOUS: 'TIMER_AMBIGUOUS',
  /** An input does not match its schema, or is not JSON: `data.name`, `data.issues`. */
  INPUT_INVALID: 'INPUT_INVALID',
  /** A later release has pushed the input, in a version that this program does not know: `data.name`, `data.version`, `data.known`. */
  INPUT_NEWER: 'INPUT_NEWER',
  /** What a handler returned does not match the schema of its job's output, or is not JSON: `data.name`, `data.issues`. */
  OUTPUT_INVALID: 'OUTPUT_INVALID',
  /** A program or a service has answered a job with more than it may: `data.mostBytes`. The program was ended, or the connection closed. */
  OUTPUT_TOO_LONG: 'OUTPUT_TOO_LONG',
  /** A program cannot be started: it is not there, is a folder or may not be executed, as the message says: `data.program`. */
  PROGRAM_NOT_STARTED: 'PROGRAM_NOT_STARTED',
  /** A program that handles a job has failed: `data.program`, and `data.exitCode`, or the signal that ended it, `data.signal`. */
  PROGRAM_FAILED: 'PROGRAM_FAILED',
  /** A service that handles a job did not succeed: `data.url`, `data.status` if it answered, and `data.retryAfterMs` if it said when to come back. */
  REQUEST_FAILED: 'REQUEST_FAILED',
  /** A job that was waited for has ended without success: `data.job`, `data.id`, `data.state`, `data.reason`. */
  JOB_ENDED: 'JOB_ENDED',
  /** A job that was waited for has not ended in time, and goes on: `data.job`, `data.id`, `data.timeoutMs`. */
  WAIT_TIMEOUT: 'WAIT_TIMEOUT',
  /** No route of this process handles a job of a queue: `data.queue`, `data.job`, `data.routes`. */
  ROUTE_MISSING: 'ROUTE_MISSING',
  /** A job that is signed has no signature, or one that is not of what it says: `data.job`, `data.task`, and `data.key`, the name of its key. */
  SIGNATURE_INVALID: 'SIGNATURE_INVALID',
  /** Tasks have failed because something that they need did not succeed: `data.topic`, `data.count`. Each says in its output what that is. */
  TASK_UNREACHABLE: 'TASK_UNREACHABLE',
  /** A topic has as many entries as it may have: `data.topic`, `data.entries`, `data.count`. Push again when some have ended. */
  TOPIC_FULL: 'TOPIC_FULL',
  /** A topic keeps its stored limits, which differ from those that a process was given: `data.topic`, `data.given`, `data.stored`. */
  LIMITS_DIFFERENT: 'LIMITS_DIFFERENT',
  /** Some tasks are not in a state that the verb accepts, or do not exist: `data.tasks`. */
  TASK_STATE: 'TASK_STATE',
  /** There is no record of an action of this id, or no longer: `data.id`. */
  ACTION_UNKNOWN: 'ACTION_UNKNOWN',
  /** The action was undone before: `data.id`. */
  ACTION_UNDONE: 'ACTION_UNDONE',
  /** The action cannot be undone, and the message says why: `data.id`, `data.action`. */
  ACTION_FINAL: 'ACTION_FINAL',
  /** The verb cannot keep its promise at the isolation level of this transaction: `data.found`, `data.needed`. */
  ISOLATION_UNSUPPORTED: 'ISOLATION_UNSUPPORTED',
  /** The repository's owner is not registered: `data.owner`. */
  OWNER_UNKNOWN: 'OWNER_UNKNOWN',
  /** A task is given twice in one call: `data.task`. Of asyncjobs: there is a task of this id already: `data.id`. */
  TASK_DUPLICATE: 'TASK_DUPLICATE',
  /** With `strict`: some tasks are no longer held: `data.lost`. */
  TASK_LOST: 'TASK_LOST',
  /** A handler of batches returned no decisions, and did not call `context.complete` either: `data.topic`. */
  DECISIONS_MISSING: 'DECISIONS_MISSING',
  /** A handler or a selector named a task that is not of the batch: `data.task`. */
  TASK_UNKNOWN: 'TASK_UNKNOWN',
  /** The transaction has ended, or an earlier error aborted it. */
  TRANSACTION_CLOSED: 'TRANSACTION_CLOSED',
  /** The database cannot be reached, or the connection was lost. The transaction is not committed, or the outcome of its commit is unknown. */
  DATABASE_UNAVAILABLE: 'DATABASE_UNAVAILABLE',
  /** There is no such database; or a SQLite file is missing, cannot be opened, or is no database. */
  DATABASE_MISSING: 'DATABASE_MISSING',
  /** The server refuses this user: the name or the password is wrong, or the user may not connect from here. */
  AUTHENTICATION_FAILED: 'AUTHENTICATION_FAILED',
  /**
   * The user lacks a privilege, or row security hides rows from the user. `data.needed` says what to grant, if that is known, and `data.tables`
   * which tables have hidden rows. The transaction is not committed.
   */
  PERMISSION_DENIED: 'PERMISSION_DENIED',
  /**
   * The server takes no writes: it is a standby, or read-only. Nothing was written: connect to the primary. For a SQLite file: this process may
   * not write to it.
   */
  DATABASE_READ_ONLY: 'DATABASE_READ_ONLY',
  /**
   * The transaction lost against another: by a deadlock, by a row that changed since it began, at REPEATABLE READ and SERIALIZABLE, or by a task
   * that was deleted while its external id was pushed. Roll back, so that nothing was written, and run the whole transaction again.
   */
  TRANSACTION_CONFLICT: 'TRANSACTION_CONFLICT',
  /** A handler did not end its work in a transaction in time. The transaction is rolled back, and its connection is not used again. */
  TRANSACTION_ABANDONED: 'TRANSACTION_ABANDONED',
  /** The pool allows fewer transactions at a time than a node may need: `data.found`, `data.needed`. */
  POOL_TOO_SMALL: 'POOL_TOO_SMALL',
  /**
   * The database lacks a resource or time at this moment: `data.shortOf` is a `Shortage`. Nothing was written, unless a commit was under way: roll
   * back, and run the whole transaction again a little later.
   */
  DATABASE_BUSY: 'DATABASE_BUSY',
  /** A notifier gave up: it listens, and no notification arrives. Nodes still find tasks by polling. */
  NOTIFICATIONS_UNDELIVERED: 'NOTIFICATIONS_UNDELIVERED',
  /** There are no tables: run `migrate`. */
  SCHEMA_MISSING: 'SCHEMA_MISSING',
  /** The tables are of an earlier release: run `migrate`. */
  SCHEMA_OLDER: 'SCHEMA_OLDER',
  /** The tables are of a later release: upgrade the package. */
  SCHEMA_NEWER: 'SCHEMA_NEWER',
  /** New tasks would get sequences that exist already, after a restore or a promotion: run `taskstream repair`, or `tasks.repair(tx)`. */
  SEQUENCE_BEHIND: 'SEQUENCE_BEHIND',
  /** A number in the database is beyond 2^53. */
  NUMBER_UNSAFE: 'NUMBER_UNSAFE',
  /** This version of Node.js, of a driver or of a database is not supported: `data.found`, `data.needed`. */
  RUNTIME_UNSUPPORTED: 'RUNTIME_UNSUPPORTED',
  /** The node does not lead its group, or no longer: `data.groupId`, `data.taskId`, and `data.term`, the term it had. Nothing it does counts. */
  LEADERSHIP_LOST: 'LEADERSHIP_LOST',
  /** Another process leads a group under this node's id, which is for one node alone: `data.groupId`, `data.taskId`. */
  TASK_ID_TAKEN: 'TASK_ID_TAKEN',
  /** The reason of an aborted signal: the lease ran out, and others may have taken the tasks. */
  LEASE_LOST: 'LEASE_LOST',
  /** The reason of an aborted signal: the handler took longer than its timeout: `data.timeoutMs`. */
  TASK_TIMEOUT: 'TASK_TIMEOUT',
  /**
   * So many handlers of a topic run on after their time was up that the process takes no more of its tasks: `data.topic`, and `data.hung`, how many. Heed
   * the signal, and restart the process.
   */
  HANDLERS_HUNG: 'HANDLERS_HUNG',
  /** The reason of an aborted signal: the node or the scheduler is stopping, and its grace is over. */
  SHUTDOWN: 'SHUTDOWN',
  /** There is such a supplement already: `data.token`, `data.task`, `data.qualifier`. */
  SUPPLEMENT_DUPLICATE: 'SUPPLEMENT_DUPLICATE',
  /** A supplement was never registered, or is still being computed: `data.token`, `data.task`, `data.qualifier`. */
  SUPPLEMENT_MISSING: 'SUPPLEMENT_MISSING',
  /** In tests: tasks were still ready after the last round of a drain, and were handed back: `data.topic`, `data.rounds`, `data.tasks`. */
  DRAIN_ENDLESS: 'DRAIN_ENDLESS',
  /** There is no clock job of that id, or it is over: `data.id`. Or the service is not attached to the listener. */
  JOB_UNKNOWN: 'JOB_UNKNOWN',
  /** There is a clock job of that id already, or a service of that name: `data.id`. */
  JOB_DUPLICATE: 'JOB_DUPLICATE',
  /** The thread of a heartbeat cannot start, or ended with an error: `data.module`. */
  THREAD_FAILED: 'THREAD_FAILED',
  /** The state of a node, manager, scheduler or listener does not allow the call, such as a second start. */
  LIFECYCLE: 'LIFECYCLE',
} as const

export type TaskErrorCode = keyof typeof taskErrorCodes

/**
 * The resource that a busy database lacks.
 *
 * - `connections`, `memory`, `disk`: a free connection, memory, room on the disk
 * - `resources`: another resource of its machine
 * - `lock`: a lock that others hold
 * - `time`: a statement was cancelled, or took longer than it may
 */
export type Shortage = 'connections' | 'memory' | 'disk' | 'resources' | 'lock' | 'time'

/**
 * The error that taskstream throws. `code` says what went wrong, `data` with which topic or task, and the message also says what to do.
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

/** Whether `error` is a `TaskError`, and has the given code if there is one. */
export function isTaskError(error: unknown, code?: TaskErrorCode): error is TaskError {
  try {
    return error instanceof TaskError && (code === undefined || error.code === code)
  } catch {
    // A handler may throw any value, and the code of some throws as soon as it is looked at: a revoked proxy, say.
    return false
  }
}

const passingCodes: ReadonlySet<TaskErrorCode> = new Set([
  'DATABASE_UNAVAILABLE',
  'DATABASE_READ_ONLY',
  'DATABASE_BUSY',
  'TRANSACTION_CONFLICT',
])

/**
 * Whether an error may pass by itself, so that the same transaction may succeed a little later. After such an error a node repeats its write, and
 * no task loses a try.
 *
 * @example
 * try { await transactions(work) }
 * catch (error) { if (isPassing(error)) later(work); else throw error }
 */
export function isPassing(error: unknown): error is TaskError {
  return isTaskError(error) && passingCodes.has(error.code)
}
