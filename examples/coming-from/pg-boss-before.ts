/** A program with pg-boss. `pg-boss.ts` is the same program on taskstream. */
import pg from 'pg'
import { PgBoss } from 'pg-boss'

interface Letter {
  readonly to: string
  readonly text: string
}

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] })
const boss = new PgBoss({ connectionString: process.env['DATABASE_URL']! })
boss.on('error', console.error)
await boss.start()
await boss.createQueue('letter', { retryLimit: 4, retryDelay: 1, retryBackoff: true, expireInSeconds: 10 })

// In a transaction
const client = await pool.connect()
await client.query('begin')
const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) }
await boss.send('letter', { to: 'ann', text: 'Welcome' }, { db, singletonKey: 'ann' })
await client.query('commit')
client.release()

// Later, and sooner than others
await boss.send('letter', { to: 'bob', text: 'Your trial ends' }, { startAfter: new Date('2100-01-01T00:00:00Z') })
await boss.send('letter', { to: 'eve', text: 'Your code is 1234' }, { priority: 10 })

export async function work(): Promise<void> {
  await boss.work<Letter>('letter', { localConcurrency: 10 }, async ([job]) => {
    console.log(`${job!.data.to}: ${job!.data.text}`)
  })
  await boss.schedule('cleanup', '0 3 * * *', {}, { tz: 'Europe/Oslo' })
}

await boss.stop({ graceful: false })
await pool.end()
