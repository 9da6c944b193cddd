/** How a command ends: a closed table, which help and the guide show as it stands here. */
import { isTaskError } from '@taskstream/task-api'
import type { TaskErrorCode } from '@taskstream/task-api'

export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  missing: 3,
  no: 4,
  refused: 5,
  unreachable: 75,
  interrupted: 130,
} as const

export type Ending = keyof typeof exitCodes

export const exitMeanings: Readonly<Record<Ending, string>> = {
  done: 'done',
  failed: 'failed: standard error says what, and what to do',
  usage: 'no such command, option or value, or no database was named',
  missing: 'no such topic, task, timer, error or process',
  no: 'the answer is no: something is wrong, the tables do not fit, nothing was submitted, or what was waited for has not happened in time',
  refused: 'refused, and nothing was written: tables of another release, no rights, a read-only database, or not confirmed',
  unreachable: 'the database cannot be reached or is busy: worth repeating',
  interrupted: 'interrupted; work ends so at a second signal, and with 0 at the first',
}

/** An error of the command line itself, which says how the command ends. */
export class CommandError extends Error {
  readonly ending: Ending

  constructor(ending: Ending, message: string) {
    super(message)
    this.name = 'CommandError'
    this.ending = ending
  }
}

/** Errors that do not end as `failed`. */
const endings: Readonly<Partial<Record<TaskErrorCode, Ending>>> = {
  ARGUMENT_INVALID: 'usage',
  TIMER_INVALID: 'usage',
  TOPIC_UNKNOWN: 'missing',
  TASK_UNKNOWN: 'missing',
  ACTION_UNKNOWN: 'missing',
  ACTION_UNDONE: 'refused',
  ACTION_FINAL: 'refused',
  TIMER_UNKNOWN: 'missing',
  OWNER_UNKNOWN: 'missing',
  SCHEMA_MISSING: 'refused',
  SCHEMA_OLDER: 'refused',
  SCHEMA_NEWER: 'refused',
  DATABASE_READ_ONLY: 'refused',
  PERMISSION_DENIED: 'refused',
  AUTHENTICATION_FAILED: 'refused',
  DATABASE_UNAVAILABLE: 'unreachable',
  DATABASE_BUSY: 'unreachable',
  TRANSACTION_CONFLICT: 'unreachable',
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return exitCodes[error.ending]
  return exitCodes[(isTaskError(error) && endings[error.code]) || 'failed']
}

/** The table in words, for `--help`. */
export function exitCodeHelp(): string {
  const lines = Object.entries(exitCodes).map(
    ([ending, code]) => `  ${String(code).padStart(3)}  ${exitMeanings[ending as Ending]}`,
  )
  return `Exit codes:\n${lines.join('\n')}`
}
