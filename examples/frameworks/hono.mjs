import { once } from 'node:events'
import { createServer } from 'node:http'
import { toNode } from '@taskstream/task-console/node'
import { Hono } from 'hono'
import { db, ops, placeOrder, stream } from './shop.mjs'

const app = new Hono()
app.post('/orders', async (context) => {
  const { customer } = await context.req.json()
  return context.json({ id: await placeOrder(customer) }, 201)
})
app.all('/ops/tasks/*', (context) => ops.fetch(context.req.raw))

const server = createServer(toNode({ fetch: async (request) => app.fetch(request), basePath: '' }))

async function start() {
  await stream.start()
  await once(server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1'), 'listening')
}

async function stop() {
  server.close()
  server.closeIdleConnections()
  await stream.stop()
  await db.destroy()
}

const started = start()
// A signal may come while it starts: what has begun is ended after that.
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => started.then(stop))
await started
console.log(`http://127.0.0.1:${server.address().port}`)
