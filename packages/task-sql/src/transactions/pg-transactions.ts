import { TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import type { PgClient } from '../adapters/from-pg.ts'
import { classifyPostgresError } from '../dialects/postgres-errors.ts'

/** What we need of a `pg.Pool`. */
export interface PgPool<Client extends PgPoolClient = PgPoolClient> {
  connect(): Promise<Client>
}

export interface PgPoolClient extends PgClient {
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

/**
 * Transactions on connections of a pool, at READ COMMITTED whatever the server's default is.
 *
 * @throws what `work` throws, after a rollback; TaskError DATABASE_UNAVAILABLE if there is no connection, or it is lost: on the
 * commit itself the outcome is unknown
 */
export function pgTransactions<Client extends PgPoolClient>(pool: PgPool<Client>): TransactionSource<Client> {
  return async (work) => {
    const client = await pool.connect().catch(rethrow)
    let broken: Error | undefined
    // A connection that is lost between two statements says so by an event, which would end the process if nobody listened.
    const onError = (error: Error): void => void (broken = error)
    client.on('error', onError)
    try {
      await client.query('begin isolation level read committed', []).catch(rethrow)
      const result = await work(client)
      const { command } = (await client.query('commit', []).catch(rethrow)) as { command?: string }
      // PostgreSQL answers a commit of an aborted transaction with a rollback, and no error.
      if (command === 'ROLLBACK')
        throw new TaskError('TRANSACTION_CLOSED', 'An error was ignored inside the transaction: it was rolled back')
      return result
    } catch (error) {
      // A connection that cannot roll back is not fit for the next transaction: it goes, and the server rolls back.
      await client.query('rollback', []).catch((cause: Error) => (broken = cause))
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }
}

function rethrow(error: unknown): never {
  throw classifyPostgresError(error) ?? error
}
