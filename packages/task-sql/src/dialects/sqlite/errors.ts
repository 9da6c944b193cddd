import { TaskError } from '@taskstream/task-api'
import { busy } from '../shared/busy.ts'
import { nameOf } from '../shared/name-of.ts'
import { columnMissing } from '../shared/column-missing.ts'
import { indexMissing } from '../shared/index-missing.ts'

/** Primary result codes. https://www.sqlite.org/rescode.html */
const codes: Readonly<Record<string, number>> = {
  SQLITE_BUSY: 5,
  SQLITE_LOCKED: 6,
  SQLITE_NOMEM: 7,
  SQLITE_READONLY: 8,
  SQLITE_INTERRUPT: 9,
  SQLITE_IOERR: 10,
  SQLITE_CORRUPT: 11,
  SQLITE_FULL: 13,
  SQLITE_CANTOPEN: 14,
  SQLITE_PROTOCOL: 15,
  SQLITE_AUTH: 23,
  SQLITE_NOTADB: 26,
}

/** Whether the file is damaged: SQLITE_CORRUPT. */
export function isDamaged(error: unknown): boolean {
  return error instanceof Error && codeOf(error) === codes['SQLITE_CORRUPT']
}

/** The `TaskError` for an error of SQLite that callers should tell apart. The error may be the cause of another one that a library throws. */
export function classifySqliteError(error: unknown): TaskError | undefined {
  return nameOf(error, classify)
}

/**
 * The same for an error of opening a file for the first time: then the path is probably wrong. If opening fails later, the reason is
 * the disk, or the number of open files.
 */
export function classifyOpening(error: unknown): TaskError | undefined {
  if (!(error instanceof Error) || error instanceof TaskError) return undefined
  // better-sqlite3 checks whether the folder exists, and throws an error without a code.
  const folderMissing = error.message.startsWith('Cannot open database because the directory does not exist')
  if (!folderMissing && codeOf(error) !== codes['SQLITE_CANTOPEN']) return classifySqliteError(error)
  return new TaskError(
    'DATABASE_MISSING',
    `The SQLite file cannot be opened: is its folder there, is it a file, and may this process read and write both? (${error.message})`,
    {},
    { cause: error },
  )
}

function classify(error: Error): TaskError | undefined {
  const because = { cause: error }
  switch (codeOf(error)) {
    case codes['SQLITE_BUSY']:
    case codes['SQLITE_LOCKED']:
    // Many processes wanted the same lock at once, and this one never got it.
    case codes['SQLITE_PROTOCOL']:
      return busy('lock', error)
    case codes['SQLITE_NOMEM']:
      return busy('memory', error)
    case codes['SQLITE_FULL']:
      return busy('disk', error)
    case codes['SQLITE_INTERRUPT']:
      return busy('time', error)
    case codes['SQLITE_READONLY']:
      return new TaskError(
        'DATABASE_READ_ONLY',
        `This SQLite file or connection takes no writes: may this process write the file and its folder? (${error.message})`,
        {},
        because,
      )
    case codes['SQLITE_AUTH']:
      return new TaskError('PERMISSION_DENIED', `The connection does not let this be done (${error.message})`, {}, because)
    case codes['SQLITE_NOTADB']:
      return new TaskError(
        'DATABASE_MISSING',
        `This file is no SQLite database: is its name right? (${error.message})`,
        {},
        because,
      )
    case codes['SQLITE_IOERR']:
    case codes['SQLITE_CANTOPEN']:
      return new TaskError(
        'DATABASE_UNAVAILABLE',
        `The SQLite file cannot be opened, read or written: is its disk there? (${error.message})`,
        {},
        because,
      )
    default:
  }
  if (/^no such table: (?:main\.)?(?:task|token_holder\b|health_check\b)/.test(error.message)) {
    return new TaskError('SCHEMA_MISSING', 'The tables of taskstream are not in this database: run migrate', {}, because)
  }
  if (error.message.startsWith('no such index: task')) return indexMissing(error)
  if (/^no such column: |^table task\w* has no column named /.test(error.message)) return columnMissing(error)
  if (/connection is not open|database is not open|(transaction|client) is closed/i.test(error.message)) {
    return new TaskError('TRANSACTION_CLOSED', 'The SQLite connection is closed', {}, because)
  }
  return undefined
}

/** The primary result code. better-sqlite3 gives the name of the extended code, and node:sqlite its number. */
function codeOf(error: Error): number | undefined {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  if (typeof errcode === 'number') return errcode & 0xff
  const [, primary = ''] = /^(SQLITE_[A-Z]+)/.exec(String(code)) ?? []
  return codes[primary]
}
