import Database from 'better-sqlite3'
import { defineJob, taskstream } from 'taskstream/better-sqlite3'
import { z } from 'zod'

const stream = taskstream(new Database(process.env['SHOP_DB'] ?? 'shop.db'))
const Order = z.object({ id: z.number(), customer: z.string(), total: z.number() })
const invoice = defineJob('invoice', { input: Order, key: (order) => order.customer, ordered: true })
const email = defineJob('email', { input: z.object({ to: z.string(), subject: z.string() }), timeoutMs: 10_000 })
const reminder = defineJob('reminder', { input: Order, id: (order) => `order ${order.id}`, next: [email] })
const cleanup = defineJob('cleanup', { timer: '03:00 Europe/Oslo' })

export const placeOrder = (order: z.infer<typeof Order>) =>
  stream.transaction((tx) => {
    tx.prepare('insert into orders values (?, ?, ?, 0)').run(order.id, order.customer, order.total)
    stream.push(tx, reminder, order, { delayMs: 14 * 86_400_000 })
    return stream.push(tx, invoice, order)
  })
export const pay = (id: number) =>
  stream.transaction((tx) => {
    tx.prepare('update orders set paid = 1 where id = ?').run(id)
    stream.cancel(tx, reminder, `order ${id}`)
  })
stream.handle(invoice, ({ input, commit }) =>
  commit((tx) => {
    tx.prepare('insert into invoices values (?, ?)').run(input.id, input.total)
    stream.push(tx, email, { to: input.customer, subject: `Invoice ${input.id}` })
  }),
)
stream.handle(email, ({ input }) => console.log(`to ${input.to}: ${input.subject}`))
stream.handle(reminder, ({ input, next }) => next(email, { to: input.customer, subject: `Reminder ${input.id}` }))
stream.handle(cleanup, ({ commit }) => commit((tx) => void tx.exec('delete from carts where expired')))
await stream.start({ stopOn: ['SIGTERM', 'SIGINT'] })
