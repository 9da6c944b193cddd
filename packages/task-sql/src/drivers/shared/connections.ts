import { checkInteger } from '@taskstream/task-api'

export interface ConnectionsOptions {
  /**
   * How many connections the library's pool opens at most, 1 to 1 000 000. A `TaskNode` checks whether they suffice. The default is the size that the
   * library gives for its pool; Kysely and Prisma give none, and then nothing is checked.
   */
  readonly connections?: number
}

/** The pools that give their size: of pg, postgres.js, Knex (tarn), mysql2 with callbacks, and mysql2 with promises. */
interface Pool {
  readonly options?: { readonly max?: unknown } | undefined
  readonly max?: unknown
  readonly config?: { readonly connectionLimit?: unknown } | undefined
  readonly pool?: { readonly config?: { readonly connectionLimit?: unknown } | undefined } | undefined
}

/**
 * Returns a function that gives the size of the pool. The function looks when it is called, as TypeORM has no pool before it is initialised.
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
