import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgListener, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import type { PgListenClient, PgPool, PgPoolClient, PostgresOptions } from '@taskstream/task-sql/pg'
import { checkHas } from '../check-has.ts'
import { checkedOptions, given } from '../given.ts'
import { Stream } from '../stream.ts'
import type { StreamOptions } from '../stream-options.ts'

export * from '../index.ts'

export interface PgStreamOptions<Client> extends StreamOptions<Client>, PostgresOptions {
  /**
   * Whether to listen for new jobs, on a connection beside the pool. Default true. A pooler in transaction mode delivers no notifications: give false
   * there, or a function that makes a client of the server itself.
   */
  readonly listen?: boolean | (() => PgListenClient)
}

/** Further members of a `pg.Pool`. */
interface PoolParts {
  readonly Client?: new (options: never) => PgListenClient
  readonly options?: unknown
  on?(event: 'error', listener: (error: Error) => void): unknown
  listenerCount?(event: 'error'): number
}

/**
 * Makes a stream of a pool of node-postgres. Transactions are clients of the pool.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const stream = taskstream(new pg.Pool())
 */
export function taskstream<Client extends PgPoolClient>(pool: PgPool<Client>, own: PgStreamOptions<Client> = {}): Stream<Client> {
  const { listen = true, schema, partitioned, notify, ...options } = checkedOptions(own)
  checkHas(pool, 'connect', 'pool', 'a pg.Pool, such as new pg.Pool({ connectionString })')
  const dialect = postgres(given({ schema, partitioned, notify }))
  const { Client: Made, options: settings, on, listenerCount } = pool as unknown as PoolParts
  // A server that ends an idle connection would end the process, if nobody listened.
  if (listenerCount?.call(pool, 'error') === 0) on?.call(pool, 'error', () => {})
  const connect = typeof listen === 'function' ? listen : Made && ((): PgListenClient => new Made(settings as never))
  return new Stream<Client, 'async'>(
    {
      repository: sqlTaskRepository({ dialect, adapter: fromPg }),
      transactions: pgTransactions(pool),
      notifier: listen !== false && connect ? pgListener(connect, given({ schema })) : undefined,
    },
    options,
  )
}
