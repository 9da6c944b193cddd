import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/pglite'
import { pgTable, text } from 'drizzle-orm/pg-core'
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core'
import { defineJob, json, taskstream } from 'taskstream/drizzle'
import type { Stream } from 'taskstream/drizzle'

/** What `db.transaction` gives to its callback, whatever driver is below: node-postgres in the program, PGlite in its tests. */
type Transaction<Driver extends PgQueryResultHKT> = Parameters<Parameters<PgDatabase<Driver>['transaction']>[0]>[0]

const invoice = pgTable('invoice', { id: text('id').primaryKey() })
const bill = defineJob('bill', { input: json<{ id: string }>() })

/** The program calls this, too. */
export function handleAll<Driver extends PgQueryResultHKT>(stream: Stream<Transaction<Driver>>): void {
  stream.handle(bill, ({ input, commit }) => commit((tx) => tx.insert(invoice).values({ id: input.id })))
}

test('a bill is written once', async () => {
  const database = new PGlite()
  const db = drizzle(database)
  await db.execute(sql`create table invoice (id text primary key)`)
  const stream = taskstream(db, { database: 'postgres', sql })
  handleAll(stream)
  await stream.start()
  await stream.wait(bill, await stream.submit(bill, { id: 'inv-7' }))
  assert.deepEqual(await db.select().from(invoice), [{ id: 'inv-7' }])
  await stream.stop()
  await database.close()
})
