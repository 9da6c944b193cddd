import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { defineJob, defineQueue, exponential, json, TaskDecision } from 'taskstream'
import { openDatabase } from './database.ts'

const dead = defineQueue('webhooks:dead')
const webhook = defineJob('webhook', {
  input: json<{ customer: string; url: string; event: string; number: number }>(),
  id: ({ customer, number }) => `${customer}/${number}`,
  key: ({ customer }) => customer,
  ordered: true,
  retry: exponential({ tries: 3, firstMs: 20, factor: 4, maxMs: 3_600_000 }),
  timeoutMs: 10_000,
  limits: { deadLetter: dead },
})

const { newStream, close } = openDatabase<object>()
const stream = newStream({ listener: {} })

stream.handle(
  webhook,
  async ({ id, input, signal }) => {
    const { url, event } = input
    const response = await fetch(url, { method: 'POST', body: event, headers: { 'webhook-id': id }, signal })
    await response.body?.cancel()
    if (response.ok) return undefined
    // Gone: this customer wants no more of them. No other try helps.
    if (response.status === 410) return TaskDecision.filter('the address is gone')
    const afterMs = Number(response.headers.get('retry-after')) * 1_000
    if (response.status === 429 && afterMs > 0) return TaskDecision.snooze({ afterMs }, 'asked to wait')
    throw new Error(`${response.status} ${response.statusText}`)
  },
  { concurrency: 50 },
)

/** Stands for customers. Ann's server is down for two calls, Bob's is well, Cid's refuses one event for ever, and Dan has left. */
const calls: string[] = []
let down = 2
const customers = createServer((request, response) => {
  const customer = request.url!.slice(1)
  const id = String(request.headers['webhook-id'])
  const status = customer === 'dan' ? 410 : id === 'cid/1' ? 500 : customer === 'ann' && down-- > 0 ? 503 : 200
  if (status === 200) calls.push(id)
  request.resume()
  response.writeHead(status).end()
}).listen(0, '127.0.0.1')
await new Promise((resolve) => customers.once('listening', resolve))
const base = `http://127.0.0.1:${(customers.address() as AddressInfo).port}`

await stream.start()
for (const number of [1, 2, 3])
  for (const customer of ['ann', 'bob', 'cid', 'dan'])
    await stream.submit(webhook, { customer, url: `${base}/${customer}`, event: 'invoice-paid', number })

const ended = async (): Promise<number> =>
  stream.transaction(async (tx) => (await stream.list(tx, webhook, { states: ['succeeded', 'failed', 'filtered'] })).length)
while ((await ended()) < 12) await delay(20)

for (const customer of ['ann', 'bob', 'cid', 'dan'])
  console.log(`${customer}: ${calls.filter((id) => id.startsWith(customer)).join(' ') || 'none'}`)
await stream.transaction(async (tx) => {
  for (const { id, tries, output = '' } of await stream.list(tx, webhook, { states: ['failed'] }))
    console.log(`failed after ${tries} tries: ${id}, ${output.split('\n')[0]}`)
  const copies = await stream.tasks.page(tx, dead.name)
  console.log(`dead letters: ${copies.map(({ identifier }) => identifier).join(', ')}`)
})
await stream.stop()
customers.close()
await close()
