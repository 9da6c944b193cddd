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

await stream.start()
const server = createServer(toNode({ fetch: async (request) => app.fetch(request), basePath: '' }))
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))

async function stop() {
  server.close()
  server.closeIdleConnections()
  await stream.stop()
  await db.destroy()
}
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, stop)
