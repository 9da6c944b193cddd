import { forgottenCodes } from '../../dialects/postgres/errors.ts'
import { render } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'
import { preparedName } from './prepared-names.ts'

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

/** Whether statements stay prepared on a connection, once that is known. */
const keeps = new WeakMap<PgClient, boolean>()

/**
 * Hands statements to node-postgres. On a connection of its own to the server they are prepared once, which saves planning them each time;
 * behind a pooler in transaction mode, where the next transaction may find another server process, they are not.
 */
export const fromPg: SqlAdapter<PgClient, 'async'> = {
  execution: 'async',
  execute: async (client, statement, plan) => {
    const { text, names } = statement.reused ? kept(statement) : written(statement)
    const values = statement.values as unknown[]
    const name = plan === undefined ? undefined : (names.get(plan) ?? preparedName(text, plan))
    if (plan !== undefined && name !== undefined) names.set(plan, name)
    if (name === undefined || !(keeps.get(client) ?? (await learnWhetherItKeeps(client))))
      return (await client.query(text, values)).rows
    try {
      return (await (client as unknown as PreparingClient).query({ name, text, values })).rows
    } catch (error) {
      // Somebody has had the connection forget (DISCARD ALL): the transaction is lost, but the next one need not be.
      if (forgottenCodes.has(String((error as { code?: unknown }).code))) keeps.set(client, false)
      throw error
    }
  },
}

interface Written {
  readonly text: string
  /** By plan. */
  readonly names: Map<string, string>
}

/** Of statements that are written the same way again and again. */
const allKept = new WeakMap<readonly string[], Written>()

function kept(statement: Statement): Written {
  let known = allKept.get(statement.texts)
  if (!known) allKept.set(statement.texts, (known = written(statement)))
  return known
}

function written(statement: Statement): Written {
  return { text: render(statement, (position) => `$${position}`), names: new Map() }
}

/** A pooler makes up the process id that it tells its clients; the server knows its own. A statement that fails says nothing of either. */
async function learnWhetherItKeeps(client: PgClient): Promise<boolean> {
  const { processID } = client as unknown as PreparingClient
  let known = false
  if (typeof processID === 'number') {
    const { rows } = await client.query('select pg_backend_pid() as pid', [])
    known = Number(rows[0]?.['pid']) === processID
  }
  keeps.set(client, known)
  return known
}
