/** What is answered if a question cannot be: RFC 9457, `application/problem+json`. */
import { isTaskError } from '@taskstream/task-api'
import type { TaskErrorCode } from '@taskstream/task-api'

/** Codes of this package, beside those of `TaskError`. */
export type ProblemCode =
  | TaskErrorCode
  /** Nobody has said who may ask, or this one may not. */
  | 'FORBIDDEN'
  /** The request names a host that the console does not answer for. */
  | 'HOST_UNKNOWN'
  /** A page of somebody else wants to write. */
  | 'ORIGIN_REFUSED'
  | 'ROUTE_UNKNOWN'
  | 'METHOD_UNKNOWN'
  | 'ERROR_UNKNOWN'
  | 'NODE_UNKNOWN'
  | 'READ_ONLY'
  | 'BODY_TOO_LONG'
  | 'INTERNAL'

/** An error that has an answer. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly data: Readonly<Record<string, unknown>>
  /** What to do, or what may have been meant. */
  readonly suggestion: string | undefined

  constructor(
    code: ProblemCode,
    status: number,
    message: string,
    data: Readonly<Record<string, unknown>> = {},
    suggestion?: string,
  ) {
    super(message)
    this.name = 'Problem'
    this.code = code
    this.status = status
    this.data = data
    this.suggestion = suggestion
  }
}

/** The body of the answer. */
export interface ProblemAnswer {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: ProblemCode
  readonly data: Readonly<Record<string, unknown>>
  readonly suggestion?: string
}

/** Which status an error of the repository has. The others are errors of this server. */
const statuses: Readonly<Partial<Record<TaskErrorCode, number>>> = {
  ARGUMENT_INVALID: 400,
  TIMER_INVALID: 400,
  TOPIC_UNKNOWN: 404,
  TASK_UNKNOWN: 404,
  TIMER_UNKNOWN: 404,
  TOPIC_NOT_KEYED: 409,
  TASK_STATE: 409,
  TOPIC_DIFFERENT: 409,
  TASK_DUPLICATE: 400,
  ACTION_UNKNOWN: 404,
  ACTION_UNDONE: 409,
  ACTION_FINAL: 409,
  TOPIC_FULL: 409,
  DATABASE_UNAVAILABLE: 503,
  DATABASE_BUSY: 503,
  DATABASE_MISSING: 503,
  DATABASE_READ_ONLY: 503,
  TRANSACTION_CONFLICT: 503,
  SCHEMA_MISSING: 503,
  SCHEMA_OLDER: 503,
  SCHEMA_NEWER: 503,
}

/** What is said instead of a driver's message, which may name hosts and users. */
const plainly: Readonly<Partial<Record<TaskErrorCode, readonly [detail: string, suggestion: string]>>> = {
  DATABASE_UNAVAILABLE: ['The database cannot be reached.', 'taskstream doctor'],
  DATABASE_BUSY: ['The database lacked time or a connection for this question.', 'Ask again, or ask for less.'],
  DATABASE_MISSING: ['There is no such database.', 'taskstream migrate up'],
  DATABASE_READ_ONLY: ['The database takes no writes.', 'taskstream doctor'],
  TRANSACTION_CONFLICT: ['The transaction lost against another one.', 'Ask again.'],
  SCHEMA_MISSING: ['The tables of taskstream are not in this database.', 'taskstream migrate up'],
  SCHEMA_OLDER: ['The tables are of an earlier release.', 'taskstream migrate up'],
  SCHEMA_NEWER: ['The tables are of a later release.', 'Upgrade @taskstream/task-console.'],
}

const titles: Readonly<Record<number, string>> = {
  400: 'The request has a value that is not allowed',
  403: 'Not allowed',
  404: 'There is no such thing',
  405: 'Not that way',
  409: 'Not in this state',
  413: 'Too long',
  503: 'Not now',
}

/** Makes of any error the problem that may be told. Of an unexpected one nothing is told. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (isTaskError(error)) {
    const status = statuses[error.code]
    const [detail, suggestion] = plainly[error.code] ?? []
    if (status !== undefined && status < 500)
      return new Problem(error.code, status, error.message, tellable(error.data), meant(error.data))
    if (status !== undefined) return new Problem(error.code, status, detail ?? 'The database cannot answer.', {}, suggestion)
  }
  return new Problem('INTERNAL', 500, 'The console has failed. Its log says why.')
}

export function answerOf({ code, status, message, data, suggestion }: Problem): ProblemAnswer {
  return {
    type: 'about:blank',
    title: titles[status] ?? 'The console has failed',
    status,
    detail: message,
    code,
    data,
    ...(suggestion !== undefined && { suggestion }),
  }
}

function meant({ suggestion }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof suggestion === 'string' ? suggestion : undefined
}

/** A refused value may be 16 MB long, and may be a payload. */
function tellable(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(data).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'string' ? value.slice(0, 200).toWellFormed() : value]),
  )
}
