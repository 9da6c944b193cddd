/** A database that is kept for several measurements. */
import { connect } from '../hot-path/database.ts'
import type { Connection } from '../hot-path/database.ts'

export interface Database extends AsyncDisposable {
  readonly connection: Connection
}

let databases = 0

export async function openDatabase(server: Connection): Promise<Database> {
  const database = `kept_${process.pid}_${++databases}`
  await command(server, `create database ${database}`)
  return {
    connection: { ...server, database },
    [Symbol.asyncDispose]: () => command(server, `drop database if exists ${database} with (force)`),
  }
}

async function command(server: Connection, text: string): Promise<void> {
  const client = await connect(server)
  await client.query(text)
  await client.end()
}
