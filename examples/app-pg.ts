import pg from 'pg'
import { defineJob, taskstream } from 'taskstream/pg'
import { z } from 'zod'

const stream = taskstream(new pg.Pool({ allowExitOnIdle: true }))
const Order = z.object({ id: z.number(), customer: z.string(), total: z.number() })
const invoice = defineJob('invoice', { input: Order, key: (order) => order.customer, ordered: true })
const email = defineJob('email', { input: z.object({ to: z.string(), subject: z.string() }), timeoutMs: 10_000 })
const reminder = defineJob('reminder', { input: Order, id: (order) => `order ${order.id}`, next: [email] })
const cleanup = defineJob('cleanup', { timer: '03:00 Europe/Oslo' })

export const placeOrder = (order: z.infer<typeof Order>) =>
  stream.transaction(async (tx) => {
    await tx.query('insert into orders values ($1, $2, $3, false)', [order.id, order.customer, order.total])
    await stream.push(tx, reminder, order, { delayMs: 14 * 86_400_000 })
    return stream.push(tx, invoice, order)
  })
export const pay = (id: number) =>
  stream.transaction(async (tx) => {
    await tx.query('update orders set paid = true where id = $1', [id])
    await stream.cancel(tx, reminder, `order ${id}`)
  })
stream.handle(invoice, ({ input, commit }) =>
  commit(async (tx) => {
    await tx.query('insert into invoices values ($1, $2)', [input.id, input.total])
    await stream.push(tx, email, { to: input.customer, subject: `Invoice ${input.id}` })
  }),
)
stream.handle(email, ({ input }) => console.log(`to ${input.to}: ${input.subject}`))
stream.handle(reminder, ({ input, next }) => next(email, { to: input.customer, subject: `Reminder ${input.id}` }))
stream.handle(cleanup, ({ commit }) => commit(async (tx) => void (await tx.query('delete from carts where expired'))))
await stream.start({ stopOn: ['SIGTERM', 'SIGINT'] })
