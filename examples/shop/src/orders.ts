/** What customers do. Each is one transaction: the shop's rows and the jobs that follow from them are there together, or not at all. */
import type { Shop } from './database.ts'
import { email, invoice, reminder } from './jobs.ts'
import type { Order } from './jobs.ts'

type Streaming = Pick<Shop, 'stream'>

/** An order that comes twice, as after a lost answer, is there once. */
export function placeOrder({ stream }: Streaming, order: Order): Promise<'placed' | 'known'> {
  return stream.transaction(async (tx) => {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('orders')
      .values({ ...order, paid: 0 })
      .onConflict((row) => row.doNothing())
      .executeTakeFirstOrThrow()
    if (!numInsertedOrUpdatedRows) return 'known'
    await stream.push(tx, invoice, order)
    return 'placed'
  })
}

/** Whoever has paid gets a receipt, and no reminder: neither one that waits, nor one that is on its way. */
export function payOrder({ stream }: Streaming, id: string): Promise<'paid' | 'unknown'> {
  return stream.transaction(async (tx) => {
    const order = await tx.updateTable('orders').set({ paid: 1 }).where('id', '=', id).returning('customer').executeTakeFirst()
    if (!order) return 'unknown'
    await stream.cancel(tx, reminder, `order ${id}`)
    await stream.cancel(tx, email, `reminder ${id}`)
    await stream.push(tx, email, { order: id, to: order.customer, about: 'receipt' })
    return 'paid'
  })
}

export interface OrderProgress extends Order {
  readonly paid: boolean
  readonly invoice: string | undefined
  readonly mails: readonly string[]
}

export async function findOrder({ stream }: Streaming, id: string): Promise<OrderProgress | undefined> {
  return stream.transaction(async (tx) => {
    const order = await tx.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirst()
    if (!order) return undefined
    const mails = await tx.selectFrom('mails').select('about').where('order_id', '=', id).orderBy('about').execute()
    const invoicing = await stream.get(tx, invoice, `order ${id}`)
    return { ...order, paid: order.paid === 1, invoice: invoicing?.state, mails: mails.map(({ about }) => about) }
  })
}
