import { TaskError } from '@taskstream/task-api'

/** https://www.sqlite.org/rescode.html */
const numbers: Readonly<Record<number, string>> = { 5: 'BUSY', 8: 'READONLY', 14: 'CANTOPEN', 23: 'AUTH', 26: 'NOTADB' }

/** SQLite's errors that callers should tell apart. A library may have wrapped the driver's error: it is then the cause of what it throws. */
export function classifySqliteError(error: unknown): TaskError | undefined {
  if (!(error instanceof Error) || error instanceof TaskError) return undefined
  return classify(error) ?? classifySqliteError(error.cause)
}

function classify(error: Error): TaskError | undefined {
  const because = { cause: error }
  switch (resultCode(error)) {
    case 'BUSY':
      return new TaskError('DATABASE_BUSY', 'Another process is writing to the SQLite file: try again', {}, because)
    case 'READONLY':
      return new TaskError(
        'DATABASE_READ_ONLY',
        `This process may not write to the SQLite file: may it write the file and its folder? (${error.message})`,
        {},
        because,
      )
    case 'AUTH':
      return new TaskError('PERMISSION_DENIED', `The connection does not let this be done (${error.message})`, {}, because)
    case 'NOTADB':
      return new TaskError(
        'DATABASE_MISSING',
        `This file is no SQLite database: is its name right? (${error.message})`,
        {},
        because,
      )
    case 'CANTOPEN':
      return new TaskError(
        'DATABASE_MISSING',
        `The SQLite file cannot be opened: is its folder there, is it a file, and may this process read and write both? (${error.message})`,
        {},
        because,
      )
  }
  if (error.message.startsWith('no such table: task')) {
    return new TaskError('SCHEMA_MISSING', 'The tables of taskstream are not in this database: run migrate', {}, because)
  }
  if (/connection is not open|database is not open/.test(error.message)) {
    return new TaskError('TRANSACTION_CLOSED', 'The SQLite connection is closed', {}, because)
  }
  return undefined
}

/** better-sqlite3 gives the name of the result code, node:sqlite its number; either may be extended. */
function resultCode(error: Error): string | undefined {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  if (typeof errcode === 'number') return numbers[errcode & 0xff]
  // better-sqlite3 looks for the folder itself.
  if (error.message.startsWith('Cannot open database because the directory does not exist')) return 'CANTOPEN'
  return /^SQLITE_([A-Z]+)/.exec(String(code))?.[1]
}
