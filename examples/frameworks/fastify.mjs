import { toNode } from '@taskstream/task-console/node'
import Fastify from 'fastify'
import { db, ops, placeOrder, stream } from './shop.mjs'

const app = Fastify()
app.addHook('onReady', () => stream.start())
app.addHook('onClose', async () => {
  await stream.stop()
  await db.destroy()
})

app.post('/orders', async (request, reply) => reply.code(201).send({ id: await placeOrder(request.body.customer) }))

const listener = toNode(ops)
app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'buffer' }, async (_request, body) => body)
for (const path of ['/ops/tasks', '/ops/tasks/*'])
  app.all(path, (request, reply) => {
    reply.hijack()
    return listener(Object.assign(request.raw, { body: request.body }), reply.raw)
  })

const listening = app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
// A signal may come while it starts: closed by then, it would never end.
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => listening.then(() => app.close()))
console.log(await listening)
