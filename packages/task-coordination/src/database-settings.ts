import { checkInteger, checkNames, optionNames } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import type { CoordinatedRepository } from './leader-options.ts'

/** Where the database of a group is. */
export interface DatabaseSettings {
  /** Default `localhost`. */
  readonly host?: string
  /** 1 to 65 535. Default: that of the database. */
  readonly port?: number
  readonly user?: string
  readonly password?: string
  readonly database?: string
}

/** A pool of a group's own. */
export interface CoordinationDatabase<Transaction> {
  readonly repository: CoordinatedRepository<Transaction, 'async'>
  readonly transactions: TransactionSource<Transaction>
  /** Closes the pool. The leader calls it when it has stopped. */
  close(): Promise<void>
}

/** One connection looks, and the others are for what the leader writes. */
export const poolSize = 5

const names = optionNames<DatabaseSettings>('a database', { host: true, port: true, user: true, password: true, database: true })

/** @throws TaskError ARGUMENT_INVALID; no value is shown, as a password may stand under another name */
export function checkSettings(settings: DatabaseSettings): void {
  checkNames(names, Object.fromEntries(Object.keys(settings).map((name) => [name, '(not shown)'])))
  if (settings.port !== undefined) checkInteger('port', settings.port, 1, 65_535)
}
