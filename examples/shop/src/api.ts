/** Takes orders and payments over HTTP. It handles no jobs: it pushes them. */
import Fastify from 'fastify'
import { sql } from 'kysely'
import { openShop } from './database.ts'
import { findOrder, payOrder, placeOrder } from './orders.ts'
import { settings } from './settings.ts'

const shop = openShop()
const app = Fastify({ logger: { level: 'warn' } })

const text = { type: 'string', minLength: 1, maxLength: 100 }
const total = { type: 'integer', minimum: 1 }
const order = {
  params: { type: 'object', properties: { id: text } },
  body: { type: 'object', required: ['customer', 'total'], additionalProperties: false, properties: { customer: text, total } },
}
type OrderRequest = { Params: { id: string }; Body: { customer: string; total: number } }

app.put<OrderRequest>('/orders/:id', { schema: order }, async ({ params, body }, reply) => {
  const outcome = await placeOrder(shop, { id: params.id, ...body })
  return reply.code(outcome === 'placed' ? 201 : 200).send({ outcome })
})
app.post<OrderRequest>('/orders/:id/payment', { schema: { params: order.params } }, async ({ params }, reply) => {
  const outcome = await payOrder(shop, params.id)
  return reply.code(outcome === 'paid' ? 200 : 404).send({ outcome })
})
app.get<OrderRequest>('/orders/:id', { schema: { params: order.params } }, async ({ params }, reply) => {
  const found = await findOrder(shop, params.id)
  return found ?? reply.code(404).send({ outcome: 'unknown' })
})

app.get('/livez', async () => 'alive\n')
app.get('/readyz', async () => {
  await sql`select 1`.execute(shop.db)
  return 'ready\n'
})

app.addHook('onClose', shop.close)
const listening = app.listen({ host: settings.host, port: settings.port })
// A signal may come while it starts: closed by then, it would never end.
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void listening.then(() => app.close()))
console.log(`api ${await listening}`)
