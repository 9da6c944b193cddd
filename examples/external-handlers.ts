import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { defineJob, exponential, externalProcess, httpRequest, json, taskstream } from 'taskstream/node-sqlite'
import { z } from 'zod'

/** Stands for a service, which is busy at first. */
let busy = 1
const mailed = new Set<string>()
const mailer = createServer((request, response) => {
  request.resume()
  if (busy-- > 0) {
    response.writeHead(503, { 'retry-after': '0' }).end()
    return
  }
  // The key is the same for each try, so a mail goes out once.
  mailed.add(String(request.headers['idempotency-key']))
  response.end()
}).listen(0, '127.0.0.1')
await once(mailer, 'listening')
const url = `http://127.0.0.1:${(mailer.address() as AddressInfo).port}/tasks`
const token = 'a secret'
const programs = join(import.meta.dirname, 'programs')

const render = defineJob('render', {
  input: z.object({ title: z.string(), pages: z.number() }),
  output: z.object({ file: z.string() }),
  timeoutMs: 60_000,
})
const mail = defineJob('mail', {
  input: json<{ to: string }>(),
  retry: exponential({ tries: 5, firstMs: 10 }),
})

const stream = taskstream(new DatabaseSync(':memory:'), { listener: {} })
stream.handle(render, externalProcess({ command: ['node', 'render.js'], cwd: programs }))
stream.handle(mail, httpRequest({ url, headers: { authorization: `Bearer ${token}` } }))

await stream.start()

const report = await stream.submit(render, { title: 'report', pages: 3 })
const { file } = await stream.wait(render, report)
const empty = await stream.submit(render, { title: 'empty', pages: 0 })
await stream.wait(render, empty).catch((error: Error) => console.log(error.message.split(': ').at(-1)))
await stream.wait(mail, await stream.submit(mail, { to: 'ann@example.org' }))
console.log(file, mailed.size)

await stream.stop()
mailer.close()
