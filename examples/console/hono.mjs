import { createServer } from 'node:http'
import { Hono } from 'hono'
import { toNode } from '@taskstream/task-console/node'
import { console as taskConsole } from './console.mjs'

const app = new Hono()
app.all('/ops/tasks/*', (context) => taskConsole.fetch(context.req.raw))

const server = createServer(toNode({ fetch: async (request) => app.fetch(request), basePath: '' }))
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/ops/tasks/`))
