/** The demo's database is made when the demo begins, and removed when it ends. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../../test/databases/postgres-server.ts'
import type { Location } from './database.ts'

const schema = 'taskstream_demo'

export async function prepare(options: { postgres?: boolean; url?: string }): Promise<{ location: Location } & AsyncDisposable> {
  if (options.url !== undefined) return preparePostgres(options.url)
  if (options.postgres) {
    const server = await startPostgres({ durable: true })
    return { location: { engine: 'postgres', url: server.url, schema }, [Symbol.asyncDispose]: () => server.stop() }
  }
  const folder = await mkdtemp(join(tmpdir(), 'taskstream-demo-'))
  return {
    location: { engine: 'sqlite', file: join(folder, 'tasks.db') },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** On a server of the user's own, the demo neither uses nor drops a schema that already exists. */
async function preparePostgres(url: string): Promise<{ location: Location } & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rowCount } = await client.query('select from information_schema.schemata where schema_name = $1', [schema])
  await client.end()
  if (rowCount)
    throw new Error(
      `There is a schema "${schema}" already: is another demo running? Otherwise drop it: drop schema ${schema} cascade`,
    )
  return {
    location: { engine: 'postgres', url, schema },
    [Symbol.asyncDispose]: async () => {
      const last = new pg.Client({ connectionString: url })
      await last.connect()
      await last.query(`drop schema if exists ${schema} cascade`)
      await last.end()
    },
  }
}
