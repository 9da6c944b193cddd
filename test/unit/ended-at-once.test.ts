/** A connection that the server ends as it becomes ready fails its transaction, not the process. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { pgTransactions } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'

/** https://www.postgresql.org/docs/current/protocol-message-formats.html */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

const welcome = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))])
const goodbye = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'))

describe('a connection that the server ends in the packet that says it is ready', () => {
  const uncaught: unknown[] = []
  const hear = (error: unknown): void => void uncaught.push(error)
  afterEach(() => {
    process.off('uncaughtExceptionMonitor', hear)
    uncaught.splice(0)
  })

  test('is an error of the transaction that asked for it, and does not end the process', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(Buffer.concat([welcome, goodbye])))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    process.on('uncaughtExceptionMonitor', hear)
    const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'nobody', database: 'none' })
    pool.on('error', () => {})
    const transactions = pgTransactions(pool, { retries: 1 })
    await expect(transactions((client) => client.query('select 1'))).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    await expect(transactions.autocommit!((client) => client.query('select 1'))).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
    })
    await pool.end()
    server.close()
    expect(uncaught).toEqual([])
  })
})
