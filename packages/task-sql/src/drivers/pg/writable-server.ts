import { isTaskError, TaskError } from '@taskstream/task-api'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import { answered } from '../shared/answered.ts'
import type { PgPool, PgPoolClient } from './transactions.ts'

/** Asks whether a server takes no writes, because it is a standby or by its settings. The answer is one row with one column. */
export const isReadOnly = `select pg_is_in_recovery() or current_setting('transaction_read_only')::bool as read_only`

/** Finds the server that takes writes by asking all servers, and remembers it until somebody doubts it. */
export class WritableServer<Client extends PgPoolClient> {
  readonly #pools: readonly PgPool<Client>[]
  #known: PgPool<Client> | undefined
  #looking: Promise<PgPool<Client>> | undefined

  constructor(pools: readonly PgPool<Client>[]) {
    this.#pools = pools
    // A single server is never asked, as there is no other to choose.
    if (pools.length === 1) this.#known = pools[0]
  }

  /** The pool of the server that takes writes. */
  find(): PgPool<Client> | Promise<PgPool<Client>> {
    if (this.#known) return this.#known
    // Many transactions may fail at a time, and they share one look.
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  /** Has the next transaction look again, as this server has failed or takes no writes. Returns whether there are other servers. */
  doubt(pool: PgPool<Client>): boolean {
    if (this.#pools.length === 1) return false
    // The failure may be old, and another server may have been found since.
    if (this.#known === pool) this.#known = undefined
    return true
  }

  async #look(): Promise<PgPool<Client>> {
    try {
      // All servers are asked at once, as an unreachable server may take minutes to fail.
      this.#known = await Promise.any(this.#pools.map(ask))
      return this.#known
    } catch (error) {
      throw noneIsWritable((error as AggregateError).errors)
    }
  }
}

async function ask<Client extends PgPoolClient>(pool: PgPool<Client>): Promise<PgPool<Client>> {
  const connecting = pool.connect()
  // A connection that arrives after the time limit is closed.
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

/** Makes the error for a server that takes no writes. */
export function standby(): TaskError {
  return new TaskError('DATABASE_READ_ONLY', 'This server takes no writes')
}

/** Makes one error of the errors of all servers. */
export function noneIsWritable(errors: readonly unknown[]): TaskError {
  const words = errors.map((error) => (error instanceof Error ? error.message || error.name : String(error))).join('; ')
  const cause = new AggregateError(errors, words)
  const readOnly = errors.some((error) => isTaskError(classifyPostgresError(error) ?? error, 'DATABASE_READ_ONLY'))
  return readOnly
    ? new TaskError('DATABASE_READ_ONLY', `None of ${errors.length} servers takes writes: ${words}`, {}, { cause })
    : new TaskError('DATABASE_UNAVAILABLE', `None of ${errors.length} servers can be reached: ${words}`, {}, { cause })
}
