import { render } from '../statement.ts'
import type { Row, SqlAdapter } from '../transaction.ts'

/** What we need of node-postgres: a `pg.Client` or `pg.PoolClient` in a transaction. */
export interface PgClient {
  query(text: string, values: unknown[]): Promise<{ rows: Row[] }>
}

/** Hands statements to node-postgres, unnamed: right behind a pooler in transaction mode too. */
export const fromPg: SqlAdapter<PgClient, 'async'> = {
  execution: 'async',
  execute: async (client, statement) => {
    const { rows } = await client.query(
      render(statement, (position) => `$${position}`),
      statement.values as unknown[],
    )
    return rows
  },
}
