/** The PostgreSQL of a run, as a server that has run for a while. */
import { startPostgres } from '../../test/databases/postgres-server.ts'
import type { PostgresServer } from '../../test/databases/postgres-server.ts'
import { connect } from './database.ts'
import type { Connection } from './database.ts'

/** 1 GiB in pages of 8 KiB. */
const bufferPages = 131_072

/** Starts a server that writes to the disk. @param isSyncOff commits do not wait for the disk */
export async function startServer(isSyncOff: boolean): Promise<PostgresServer> {
  const server = await startPostgres({
    durable: true,
    settings: {
      shared_buffers: `${bufferPages * 8}kB`,
      max_wal_size: '8GB',
      // Ten processes of a peer have a pool of 25 connections each.
      max_connections: '400',
      ...(isSyncOff ? { synchronous_commit: 'off' } : {}),
    },
  })
  await touchBuffers(server.connection)
  return server
}

/** Touches every buffer once, as a server that has run for a while has done. Before that a buffer has no memory from the system. */
async function touchBuffers(connection: Connection): Promise<void> {
  const client = await connect(connection)
  await client.query('create unlogged table touched (page text)')
  await client.query('alter table touched alter column page set storage plain')
  await client.query(`insert into touched select repeat('x', 8000) from generate_series(1, $1::int)`, [bufferPages])
  await client.query('drop table touched')
  await client.query('checkpoint')
  await client.end()
}
