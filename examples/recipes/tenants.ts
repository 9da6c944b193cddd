import { setTimeout as delay } from 'node:timers/promises'
import { defineJob, json } from 'taskstream'
import { openDatabase } from './database.ts'

/** Tenants take turns: none waits for the backlog of another. */
const render = defineJob('render', {
  input: json<{ tenant: string; page: number }>(),
  key: ({ tenant }) => tenant,
  order: 'shared',
  timeoutMs: 60_000,
})

/** At most two jobs of a tenant at a time, whoever has a process free, so that none takes up all hands. */
const mail = defineJob('mail', {
  input: json<{ tenant: string; to: string }>(),
  key: ({ tenant }) => tenant,
  limits: { perKey: 2 },
  timeoutMs: 60_000,
})

const { newStream, close } = openDatabase<object>()
const stream = newStream({ listener: {} })

const rendered: string[] = []
stream.handle(render, ({ input }) => void rendered.push(input.tenant), { concurrency: 4 })

const atOnce = new Map<string, number>()
const count = (tenant: string, change: 1 | -1): number => {
  const now = (atOnce.get(tenant) ?? 0) + change
  atOnce.set(tenant, now)
  return now
}
let most = 0
stream.handle(
  mail,
  async ({ input: { tenant } }) => {
    most = Math.max(most, count(tenant, 1))
    await delay(2)
    count(tenant, -1)
  },
  { concurrency: 20 },
)

await stream.prepare(render, mail)
await stream.transaction(async (tx) => {
  const pages = Array.from({ length: 1_000 }, (_, page) => page)
  await stream.pushMany(
    tx,
    render,
    pages.map((page) => [{ tenant: 'big', page }]),
  )
  await stream.pushMany(tx, render, [[{ tenant: 'small', page: 1 }], [{ tenant: 'small', page: 2 }]])
  await stream.pushMany(
    tx,
    mail,
    pages.slice(0, 40).map((to) => [{ tenant: 'big', to: `${to}@example.org` }]),
  )
})

await stream.start()
const open = async (): Promise<number> => {
  const states = ['ready', 'active'] as const
  return stream.transaction(
    async (tx) =>
      (await stream.list(tx, render, { states, size: 1 })).length + (await stream.list(tx, mail, { states, size: 1 })).length,
  )
}
while ((await open()) > 0) await delay(20)
await stream.stop()

const last = rendered.lastIndexOf('small') + 1
console.log(`${rendered.length} pages; the small tenant was through ${last <= 20 ? 'among the first twenty' : `after ${last}`}`)
console.log(`${most <= 2 ? 'never more than 2' : most} mails of a tenant at a time`)
await close()
