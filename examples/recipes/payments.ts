import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { defineJob, json } from 'taskstream'
import { openDatabase } from './database.ts'

const aDay = 86_400_000
const email = defineJob('email', {
  input: json<{ order: number; to: string; about: 'receipt' | 'reminder' }>(),
  id: ({ order, about }) => `${about} ${order}`,
  timeoutMs: 10_000,
})
const reminder = defineJob('reminder', {
  input: json<{ order: number; to: string }>(),
  id: ({ order }) => `order ${order}`,
  next: [email],
})

interface Tables {
  orders: { id: number; customer: string; paid: number }
}
const { db, newStream, close } = openDatabase<Tables>()
const stream = newStream({ listener: {} })

const placeOrder = (order: number, customer: string): Promise<unknown> =>
  stream.transaction(async (tx) => {
    await tx.insertInto('orders').values({ id: order, customer, paid: 0 }).execute()
    await stream.push(tx, reminder, { order, to: customer }, { delayMs: 14 * aDay })
  })

/** Is called by the payment service, which may call twice. */
const pay = (order: number): Promise<string> =>
  stream.transaction(async (tx) => {
    const { customer } = await tx
      .updateTable('orders')
      .set({ paid: 1 })
      .where('id', '=', order)
      .returning('customer')
      .executeTakeFirstOrThrow()
    await stream.cancel(tx, reminder, `order ${order}`)
    await stream.cancel(tx, email, `reminder ${order}`)
    const { outcome } = await stream.push(tx, email, { order, to: customer, about: 'receipt' })
    return outcome
  })

/** Stands for a mail service. It knows an `idempotencyKey` again, as most of them do. */
const sent = new Map<string, string>()
stream.handle(email, ({ id, input }) => void sent.set(id, `${input.about} for order ${input.order} to ${input.to}`))

stream.handle(reminder, ({ input, next }) => next(email, { ...input, about: 'reminder' }))

await sql`create table orders (id integer primary key, customer text not null, paid integer not null)`.execute(db)
await stream.start()
await placeOrder(1, 'ann')
await placeOrder(2, 'bob')
console.log(await pay(1), await pay(1))

// Two weeks later: nobody waits that long here, so what waits for its time is due now.
await stream.transaction(async (tx) => {
  for (const { id } of await stream.list(tx, reminder, { states: ['delayed'] }))
    await stream.reschedule(tx, reminder, id, { delayMs: 0 })
})
while (sent.size < 2) await delay(10)
for (const line of [...sent.values()].toSorted()) console.log(line)
await stream.transaction(async (tx) => {
  const { state, reason } = (await stream.get(tx, reminder, 'order 1'))!
  console.log(`the reminder of order 1: ${state}, ${reason}`)
})
await stream.stop()
await close()
