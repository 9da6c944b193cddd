import Fastify from 'fastify'
import { toNode } from '@taskstream/task-console/node'
import { console as taskConsole } from './console.mjs'

const app = Fastify()
const listener = toNode(taskConsole)
app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'buffer' }, async (_request, body) => body)
for (const path of ['/ops/tasks', '/ops/tasks/*'])
  app.all(path, (request, reply) => {
    reply.hijack()
    return listener(Object.assign(request.raw, { body: request.body }), reply.raw)
  })

console.log(`${await app.listen({ port: 0, host: '127.0.0.1' })}/ops/tasks/`)
