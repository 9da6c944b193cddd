import { taskConsole } from '@taskstream/task-console'
import Database from 'better-sqlite3'
import { Kysely, PostgresDialect, sql, SqliteDialect } from 'kysely'
import pg from 'pg'
import { defineJob, json, taskstream } from 'taskstream/kysely'

const url = process.env.DATABASE_URL ?? 'shop.db'
const database = url.startsWith('postgres') ? 'postgres' : 'sqlite'
const pool = database === 'postgres' ? new pg.Pool({ connectionString: url }) : undefined
const lost = (error) => console.error(error.message)
pool?.on('error', lost).on('connect', (client) => client.on('error', lost)) // Kysely listens to neither
export const db = new Kysely({
  dialect: pool ? new PostgresDialect({ pool }) : new SqliteDialect({ database: new Database(url, { timeout: 0 }) }),
})
if (database === 'sqlite') await sql`pragma journal_mode = wal`.execute(db)
export const stream = taskstream(db, { database, sql })
export const mail = defineJob('mail', { input: json(), timeoutMs: 10_000 })

stream.handle(mail, ({ input, commit }) =>
  // Stands for a mail: it is a row, so that everybody can count it.
  commit((tx) => tx.insertInto('mails').values(input).execute()),
)

export const placeOrder = (customer) =>
  stream.transaction(async (tx) => {
    const id = crypto.randomUUID()
    await tx.insertInto('orders').values({ id, customer }).execute()
    await stream.push(tx, mail, { order_id: id, customer })
    return id
  })

export const ops = taskConsole({
  repository: stream.tasks,
  transactions: (work) => stream.transaction(work),
  basePath: '/ops/tasks',
  authorize: (request) => {
    const name = request.headers.get('x-user')
    return name === null ? undefined : { name, role: 'operator' }
  },
})
