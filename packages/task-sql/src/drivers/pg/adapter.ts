import { isForgotten } from '../../dialects/postgres/errors.ts'
import { perTexts } from '../../core/cache.ts'
import { render } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'
import { checkIsTransaction } from '../shared/ended-transactions.ts'
import { PreparedNames } from './prepared-names.ts'

/** The part of a `pg.Client` or `pg.PoolClient` that the adapter uses. The client must be in a transaction. */
export interface PgClient {
  query(text: string, values: unknown[]): Promise<{ rows: Row[] }>
}

/** Further members of a node-postgres client, for prepared statements and for traces. */
interface PreparingClient {
  query(query: { readonly name: string; readonly text: string; readonly values: unknown[] }): Promise<{ rows: Row[] }>
  readonly host?: string
  readonly port?: number
  /** The server process's id that the client was told when it connected. */
  readonly processID?: number | null
}

/**
 * Hands statements to node-postgres. On a direct connection to the server, statements are prepared once, which saves planning them each time.
 * Behind a pooler in transaction mode they are not prepared, as the next transaction may run in another server process.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
 */
export const fromPg: SqlAdapter<PgClient, 'async'> = preparing()

/** The most statements of one connection that stay prepared. Each costs memory on the server. */
const mostPrepared = 400

function preparing(): SqlAdapter<PgClient, 'async'> {
  /** The names that are prepared on a connection, or false if none stay prepared there. Connections that were not asked yet have no entry. */
  const kept = new WeakMap<PgClient, Set<string> | false>()
  const names = new PreparedNames()
  const writtenOf = perTexts(written)
  return {
    execution: 'async',
    execute: async (client, statement, plan) => {
      checkIsTransaction(!('totalCount' in client), 'a pool')
      const { text, byPlan } = writtenOf(statement)
      const values = statement.values as unknown[]
      const name = plan === undefined ? undefined : (byPlan.get(plan) ?? names.nameOf(text, plan))
      if (plan !== undefined && name !== undefined) byPlan.set(plan, name)
      if (name === undefined) return (await client.query(text, values)).rows
      let prepared = kept.get(client)
      if (prepared === undefined) kept.set(client, (prepared = (await staysPrepared(client)) && new Set()))
      // A connection gives up none that it has prepared: the driver remembers them.
      if (prepared === false || (prepared.size >= mostPrepared && !prepared.has(name)))
        return (await client.query(text, values)).rows
      try {
        prepared.add(name)
        return (await (client as unknown as PreparingClient).query({ name, text, values })).rows
      } catch (error) {
        // Something dropped the connection's prepared statements (DISCARD ALL). This transaction fails; the next prepares none and succeeds.
        if (isForgotten(error)) kept.set(client, false)
        throw error
      }
    },
    serverOf: (client) => {
      const { host, port } = client as unknown as PreparingClient
      if (typeof host !== 'string') return undefined
      // A path is the folder of the server's socket.
      return typeof port === 'number' && !host.startsWith('/') ? { address: host, port } : { address: host }
    },
  }
}

interface Written {
  readonly text: string
  /** Names under which the text is prepared, by plan. */
  readonly byPlan: Map<string, string>
}

function written(texts: readonly string[]): Written {
  return { text: render({ texts }, (position) => `$${position}`), byPlan: new Map() }
}

/**
 * Tells whether the client is connected to the server directly. A pooler tells its clients a process id of its own making, which differs from the
 * id that the server returns.
 */
async function staysPrepared(client: PgClient): Promise<boolean> {
  const { processID } = client as unknown as PreparingClient
  if (typeof processID !== 'number') return false
  const { rows } = await client.query('select pg_backend_pid() as pid', [])
  return Number(rows[0]?.['pid']) === processID
}
