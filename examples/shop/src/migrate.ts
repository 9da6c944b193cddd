/** The deployment's step: brings the tables of the shop and of its jobs to this release. It may run while the release before still works. */
import { sql } from 'kysely'
import { openShop } from './database.ts'
import { allJobs } from './jobs.ts'

const { db, stream, close } = openShop({ migrate: true })

// The tables have no unique keys but that of orders: that there is one invoice, and one mail of a kind, the jobs see to.
for (const table of [
  sql`create table if not exists orders (id text primary key, customer text not null, total integer not null, paid integer not null)`,
  sql`create table if not exists invoices (order_id text not null, total integer not null)`,
  sql`create table if not exists mails (order_id text not null, about text not null, recipient text not null)`,
  sql`create table if not exists carts (id text primary key, touched_at bigint not null)`,
])
  await table.execute(db)
await stream.prepare(...allJobs)
console.log('the tables are those of this release')
await close()
