import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import { defineJob, exponential, json } from 'taskstream'
import { openDatabase } from './database.ts'

interface Event {
  readonly type: 'order-placed' | 'order-cancelled'
  readonly order: number
}

const publish = defineJob('publish', {
  input: json<Event>(),
  key: ({ order }) => `order ${order}`,
  ordered: true,
  retry: exponential({ tries: 20, firstMs: 50, maxMs: 60_000 }),
  timeoutMs: 10_000,
})

/** Stands for Kafka, NATS or RabbitMQ: it takes a message, and may lose the answer. A message may then come twice, as with all of them. */
const broker = {
  messages: [] as { readonly id: string; readonly event: Event }[],
  lostAnswers: 2,
  async send(id: string, event: Event, { signal }: { signal: AbortSignal }): Promise<void> {
    signal.throwIfAborted()
    this.messages.push({ id, event })
    if (this.lostAnswers-- > 0) throw new Error('The broker does not answer')
  },
}

interface Tables {
  orders: { id: number; state: string }
  received: { message: string }
}
const { db, newStream, close } = openDatabase<Tables>()
const stream = newStream({ listener: {} })

/** The id is the message's own, whoever sends it and however often. */
const emit = (tx: Kysely<Tables>, event: Event): Promise<unknown> => stream.push(tx, publish, event, { id: randomUUID() })

const placeOrder = (order: number): Promise<unknown> =>
  stream.transaction(async (tx) => {
    await tx.insertInto('orders').values({ id: order, state: 'placed' }).execute()
    await emit(tx, { type: 'order-placed', order })
  })
const cancelOrder = (order: number): Promise<unknown> =>
  stream.transaction(async (tx) => {
    await tx.updateTable('orders').set({ state: 'cancelled' }).where('id', '=', order).execute()
    await emit(tx, { type: 'order-cancelled', order })
  })

stream.handle(publish, async ({ id, input, signal }) => {
  await broker.send(id, input, { signal })
})

/** Stands for the program at the other end: the message and what it does to its database are one transaction. */
async function consume(id: string, event: Event): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('received')
      .values({ message: id })
      .onConflict((row) => row.doNothing())
      .executeTakeFirstOrThrow()
    console.log(`${event.type} ${event.order}: ${numInsertedOrUpdatedRows ? 'done' : 'seen before'}`)
  })
}

await sql`create table orders (id integer primary key, state text not null)`.execute(db)
await sql`create table received (message text primary key)`.execute(db)
await stream.start()

await placeOrder(1)
await cancelOrder(1)
await placeOrder(1).catch(() => console.log('order 1 is there already: no event'))

while (broker.messages.length < 4) await delay(10)
await stream.stop()
for (const { id, event } of broker.messages) await consume(id, event)
await close()
