import { checkInteger } from '@taskstream/task-api'

export interface ConnectionsOptions {
  /**
   * How many connections the pool below opens at most, 1 to 1 000 000, so that a `TaskNode` can tell whether they are enough for it. Default: what
   * the library says of its pool; Kysely and Prisma do not say, and nothing is checked then.
   */
  readonly connections?: number
}

/** The pools that say so: of pg, postgres.js, Knex (tarn), mysql2 with callbacks, and mysql2 with promises. */
interface Pool {
  readonly options?: { readonly max?: unknown } | undefined
  readonly max?: unknown
  readonly config?: { readonly connectionLimit?: unknown } | undefined
  readonly pool?: { readonly config?: { readonly connectionLimit?: unknown } | undefined } | undefined
}

/**
 * Looks when it is asked: TypeORM has no pool before it is initialised.
 *
 * @throws TaskError ARGUMENT_INVALID
 */
export function connectionsOf(
  { connections }: ConnectionsOptions,
  find: () => unknown = () => undefined,
): () => number | undefined {
  if (connections !== undefined) {
    checkInteger('connections', connections, 1, 1_000_000)
    return () => connections
  }
  return () => {
    const { options, max, config, pool } = (find() ?? {}) as Pool
    const known = [options?.max, max, config?.connectionLimit, pool?.config?.connectionLimit]
    return known.find((value): value is number => typeof value === 'number' && Number.isFinite(value))
  }
}
