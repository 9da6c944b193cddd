import { isTaskError, TaskError } from '@taskstream/task-api'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import { answered } from '../shared/answered.ts'
import type { PgPool, PgPoolClient } from './transactions.ts'

/** Asked of a server that may be a standby, or kept from writes by its settings: one row, one column. */
export const isReadOnly = `select pg_is_in_recovery() or current_setting('transaction_read_only')::bool as read_only`

/** Which of several servers takes writes: found by asking them all, and remembered until there is a doubt. */
export class WritableServer<Client extends PgPoolClient> {
  readonly #pools: readonly PgPool<Client>[]
  #known: PgPool<Client> | undefined
  #looking: Promise<PgPool<Client>> | undefined

  constructor(pools: readonly PgPool<Client>[]) {
    this.#pools = pools
    // With one there is nothing to choose, and nothing to ask.
    if (pools.length === 1) this.#known = pools[0]
  }

  /** The pool of the server that takes writes. */
  find(): PgPool<Client> | Promise<PgPool<Client>> {
    if (this.#known) return this.#known
    // However many transactions fail at a time, the servers are asked once.
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  /** The server has failed, or no longer takes writes: the next transaction looks again. Whether there is another to be found. */
  doubt(pool: PgPool<Client>): boolean {
    if (this.#pools.length === 1) return false
    // One that failed long ago may say so late, when another has been found already.
    if (this.#known === pool) this.#known = undefined
    return true
  }

  async #look(): Promise<PgPool<Client>> {
    try {
      // All at once: a server that is gone may take minutes to say nothing.
      this.#known = await Promise.any(this.#pools.map(ask))
      return this.#known
    } catch (error) {
      throw noneIsWritable((error as AggregateError).errors)
    }
  }
}

async function ask<Client extends PgPoolClient>(pool: PgPool<Client>): Promise<PgPool<Client>> {
  const connecting = pool.connect()
  // One that comes too late is given back.
  const client = await answered(connecting).catch((error: unknown) => {
    connecting.then(
      (late) => late.release(true),
      () => {},
    )
    throw error
  })
  const onError = (): void => {}
  client.on('error', onError)
  let broken: Error | undefined
  try {
    const { rows } = await answered(client.query(isReadOnly, []))
    if (rows[0]?.['read_only'] !== false) throw standby()
    return pool
  } catch (error) {
    broken = error as Error
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/** What a server that takes no writes is told to be. */
export function standby(): TaskError {
  return new TaskError('DATABASE_READ_ONLY', 'This server takes no writes')
}

/** What all servers said, as one error. */
export function noneIsWritable(errors: readonly unknown[]): TaskError {
  const words = errors.map((error) => (error instanceof Error ? error.message || error.name : String(error))).join('; ')
  const cause = new AggregateError(errors, words)
  const readOnly = errors.some((error) => isTaskError(classifyPostgresError(error) ?? error, 'DATABASE_READ_ONLY'))
  return readOnly
    ? new TaskError('DATABASE_READ_ONLY', `None of ${errors.length} servers takes writes: ${words}`, {}, { cause })
    : new TaskError('DATABASE_UNAVAILABLE', `None of ${errors.length} servers can be reached: ${words}`, {}, { cause })
}
