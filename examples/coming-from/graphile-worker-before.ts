/** A program with graphile-worker. `graphile-worker.ts` is the same program on taskstream. */
import { makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'

interface Letter {
  readonly to: string
  readonly text: string
}

const connectionString = process.env['DATABASE_URL']!
const utils = await makeWorkerUtils({ connectionString })
await utils.migrate()
const pool = new pg.Pool({ connectionString })

// In a transaction
const client = await pool.connect()
await client.query('begin')
await client.query(`select graphile_worker.add_job('letter', $1::json, queue_name := $2, max_attempts := 5)`, [
  { to: 'ann', text: 'Welcome' },
  'ann',
])
await client.query('commit')
client.release()

// Later, and sooner than others
await utils.addJob(
  'letter',
  { to: 'bob', text: 'Your trial ends' },
  { runAt: new Date('2100-01-01T00:00:00Z'), queueName: 'bob' },
)
await utils.addJob('letter', { to: 'eve', text: 'Your code is 1234' }, { priority: -10, queueName: 'eve' })

export async function work(): Promise<void> {
  const taskList = {
    letter: (payload: unknown) => {
      const { to, text } = payload as Letter
      console.log(`${to}: ${text}`)
    },
    cleanup: () => console.log('cleaned up'),
  }
  const runner = await run({ connectionString, concurrency: 10, taskList, crontab: '0 3 * * * cleanup' })
  await runner.promise
}

await pool.end()
await utils.release()
