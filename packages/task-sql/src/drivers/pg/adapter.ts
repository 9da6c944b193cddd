import { forgottenCodes } from '../../dialects/postgres/errors.ts'
import { perTexts } from '../../core/cache.ts'
import { render } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'
import { PreparedNames } from './prepared-names.ts'

/** What we need of node-postgres: a `pg.Client` or `pg.PoolClient` in a transaction. */
export interface PgClient {
  query(text: string, values: unknown[]): Promise<{ rows: Row[] }>
}

/** What node-postgres has besides. */
interface PreparingClient {
  query(query: { readonly name: string; readonly text: string; readonly values: unknown[] }): Promise<{ rows: Row[] }>
  /** The server process that the connection was told of when it was made. */
  readonly processID?: number | null
}

/**
 * Hands statements to node-postgres. On a connection of its own to the server they are prepared once, which saves planning them each time;
 * behind a pooler in transaction mode, where the next transaction may find another server process, they are not.
 */
export const fromPg: SqlAdapter<PgClient, 'async'> = preparing()

function preparing(): SqlAdapter<PgClient, 'async'> {
  /** Whether statements stay prepared on a connection, once that is known. */
  const keeps = new WeakMap<PgClient, boolean>()
  const names = new PreparedNames()
  const writtenOf = perTexts(written)
  return {
    execution: 'async',
    execute: async (client, statement, plan) => {
      const { text, byPlan } = writtenOf(statement)
      const values = statement.values as unknown[]
      const name = plan === undefined ? undefined : (byPlan.get(plan) ?? names.nameOf(text, plan))
      if (plan !== undefined && name !== undefined) byPlan.set(plan, name)
      if (name === undefined) return (await client.query(text, values)).rows
      let keeping = keeps.get(client)
      if (keeping === undefined) keeps.set(client, (keeping = await staysPrepared(client)))
      if (!keeping) return (await client.query(text, values)).rows
      try {
        return (await (client as unknown as PreparingClient).query({ name, text, values })).rows
      } catch (error) {
        // Somebody has had the connection forget (DISCARD ALL): the transaction is lost, but the next one need not be.
        if (forgottenCodes.has(String((error as { code?: unknown }).code))) keeps.set(client, false)
        throw error
      }
    },
  }
}

interface Written {
  readonly text: string
  /** Names of the text as it is prepared, by plan. */
  readonly byPlan: Map<string, string>
}

function written(texts: readonly string[]): Written {
  return { text: render({ texts }, (position) => `$${position}`), byPlan: new Map() }
}

/** A pooler makes up the process id that it tells its clients; the server knows its own. A statement that fails says nothing of either. */
async function staysPrepared(client: PgClient): Promise<boolean> {
  const { processID } = client as unknown as PreparingClient
  if (typeof processID !== 'number') return false
  const { rows } = await client.query('select pg_backend_pid() as pid', [])
  return Number(rows[0]?.['pid']) === processID
}
