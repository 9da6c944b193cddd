/** A database of its own for a program that a test starts: a new file, or a new database on the server of PostgreSQL. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'

export const ownEngines = ['sqlite', 'postgres'] as const

export interface OwnDatabase extends AsyncDisposable {
  /** `sqlite:` and a path, or `postgres://…`. */
  readonly url: string
}

/** Whether there is a server, without which only files can be had. */
export const hasPostgres = (): boolean => Boolean(process.env['TASKSTREAM_POSTGRES_SERVER'])

export async function ownDatabase(engine: (typeof ownEngines)[number]): Promise<OwnDatabase> {
  if (engine === 'sqlite') {
    const folder = mkdtempSync(join(tmpdir(), 'taskstream-own-'))
    return {
      url: `sqlite:${join(folder, 'own.db')}`,
      [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
    }
  }
  const server = process.env['TASKSTREAM_POSTGRES_SERVER'] ?? ''
  const name = `own_${randomUUID().replaceAll('-', '')}`
  const ask = async (text: string): Promise<void> => {
    const client = new pg.Client({ connectionString: server })
    await client.connect()
    try {
      await client.query(text)
    } finally {
      await client.end()
    }
  }
  await ask(`create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, [Symbol.asyncDispose]: () => ask(`drop database ${name} with (force)`) }
}
