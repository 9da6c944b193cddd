import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import type { Transaction } from '@electric-sql/pglite'
import { defineJob, exponential, json, taskstream } from 'taskstream/pglite'
import type { Stream } from 'taskstream/pglite'
import { testStream } from 'taskstream/testing'

const email = defineJob('email', {
  input: json<{ to: string; subject: string }>(),
  id: ({ to, subject }) => `${subject} to ${to}`,
  retry: exponential({ tries: 3, firstMs: 60_000, jitter: 0 }),
})
const invoice = defineJob('invoice', {
  input: json<{ order: number; customer: string }>(),
  id: ({ order }) => `order ${order}`,
})

/** What the handlers need of the world, so that a test can give something else. */
interface Mailer {
  send(mail: { to: string; subject: string }): Promise<void>
}

/** Takes any stream, as no handler of it has SQL. */
function handleMails<Tx, E extends 'sync' | 'async'>(stream: Stream<Tx, E>, mailer: Mailer): void {
  stream.handle(email, ({ input }) => mailer.send(input))
}

/** Has SQL of PostgreSQL. In production, `taskstream/pg` has the same `query` on its transactions. */
function handleInvoices(stream: Stream<Transaction>): void {
  stream.handle(invoice, ({ input, commit }) =>
    commit(async (tx) => {
      await tx.query('insert into invoices (order_id, written) values ($1, now())', [input.order])
      await stream.push(tx, email, { to: input.customer, subject: `Invoice ${input.order}` })
    }),
  )
}

test('a mail is tried three times within three minutes', async () => {
  await using stream = await testStream({ now: new Date('2026-01-01T00:00:00Z') })
  handleMails(stream, { send: async () => Promise.reject(new Error('The mail server is down')) })
  await stream.submit(email, { to: 'ann', subject: 'Hello' })

  const tries = await stream.drain({ advance: true })

  assert.deepEqual(
    tries.map(({ state }) => state),
    ['retrying', 'retrying', 'failed'],
  )
  assert.equal(stream.clock.now().toISOString(), '2026-01-01T00:03:00.000Z')
})

test('an order that is pushed twice has one invoice and one mail', async () => {
  await using database = await PGlite.create()
  await database.exec('create table invoices (order_id integer, written timestamptz)')
  const sent: string[] = []
  await using stream = taskstream(database, { listener: {} })
  handleInvoices(stream)
  handleMails(stream, { send: async ({ to, subject }) => void sent.push(`${to}: ${subject}`) })
  await stream.start()

  for (const _ of ['once', 'twice']) await stream.submit(invoice, { order: 7, customer: 'ann' })
  await stream.wait(invoice, 'order 7')
  await stream.wait(email, 'Invoice 7 to ann')

  const { rows } = await database.query('select order_id from invoices')
  assert.deepEqual([rows, sent], [[{ order_id: 7 }], ['ann: Invoice 7']])
})
