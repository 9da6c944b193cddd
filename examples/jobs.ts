import { DatabaseSync } from 'node:sqlite'
import { defineJob, defineQueue, exponential, json, TaskDecision, taskstream, versioned } from 'taskstream/node-sqlite'
import { z } from 'zod'

const letter = defineJob('letter', {
  input: z.object({ to: z.string(), text: z.string() }),
  output: json<{ printedAs: number }>(),
  retry: exponential({ tries: 5, firstMs: 1_000 }),
  timeoutMs: 10_000,
})
const account = defineJob('account', {
  input: json<{ id: number; owner: string }>(),
  id: ({ id }) => `account ${id}`,
  key: ({ owner }) => owner,
  ordered: true,
  next: [letter],
})

const mail = defineQueue('mail', { order: 'priority' })
const invitation = defineJob('mail:invitation', { queue: mail, input: json<{ to: string }>(), priority: 1 })
const newsletter = defineJob('mail:newsletter', { queue: mail, input: json<{ edition: number }>() })

const firstBill = json<{ id: number; total: number }>()
const Bill = z.object({ id: z.number(), total: z.number(), currency: z.string() })
const bill = defineJob('bill', {
  input: versioned(firstBill).to(Bill, (old) => ({ ...old, currency: 'NOK' })),
  output: json<string>(),
})

const stream = taskstream(new DatabaseSync(':memory:'))
await stream.transaction((tx) => tx.exec('create table account (id integer, owner text)'))

/** Stands for a printer, which is busy at first. */
let busy = 2
let printed = 0
async function print(text: string, { signal }: { signal: AbortSignal }): Promise<'busy' | number> {
  signal.throwIfAborted()
  if (busy-- > 0) return 'busy'
  console.log(text)
  return ++printed
}

stream.handle(letter, async ({ input, signal }) => {
  const outcome = await print(`${input.to}: ${input.text}`, { signal })
  return outcome === 'busy' ? TaskDecision.snooze({ afterMs: 10 }, 'the printer is busy') : { printedAs: outcome }
})

stream.handle(account, ({ input, commit, next }) => {
  if (input.id < 0) return next(letter, { to: input.owner, text: 'No such account' })
  return commit((tx) => {
    tx.prepare('insert into account values (?, ?)').run(input.id, input.owner)
    return next(letter, { to: input.owner, text: 'Welcome' })
  })
})

const tookMs = new Map<string, number>()
stream.use(async (job, next) => {
  const begunMs = performance.now()
  try {
    return await next()
  } finally {
    tookMs.set(job.name, performance.now() - begunMs)
  }
})

const outbox: string[] = []
stream.handle(invitation, ({ input }) => void outbox.push(`invitation to ${input.to}`))
stream.route(mail, { 'mail:*': ({ name, input }) => void outbox.push(`${name} ${JSON.stringify(input)}`) }, { concurrency: 50 })

stream.handle(bill, ({ input }) => `${input.total} ${input.currency}`)

const trouble: string[] = []
const watching = (async () => {
  for await (const { job, state, reason } of stream.watch({ states: ['failed', 'filtered'] })) {
    trouble.push(`${job}: ${state}, ${reason}`)
  }
})()

await stream.start()

const first = await stream.submit(account, { id: 7, owner: 'ann' })
const second = await stream.submit(account, { id: 7, owner: 'ann' })
console.log(first.id, first.outcome, second.outcome)
await stream.submit(account, { id: -1, owner: 'bob' }, { id: 'wrong', tags: { tenant: 'acme' } })

await stream.transaction((tx) => {
  const ref = stream.push(tx, letter, { to: 'cid', text: 'Hello' }, { delayMs: 86_400_000 })
  stream.reschedule(tx, letter, ref, { delayMs: 3_600_000 })
  stream.cancel(tx, letter, ref)
  console.log(stream.get(tx, letter, ref)?.reason)
})

await stream.transaction((tx) => {
  const { jobs, lookedAt, next } = stream.find(tx, account, { tags: { tenant: 'acme' }, size: 50 })
  console.log(jobs.length, lookedAt, next)
})

const reminder = await stream.submit(letter, { to: 'dan', text: 'Your account is empty' })
const { printedAs } = await stream.wait(letter, reminder, { timeoutMs: 60_000 })
const welcome = await stream.wait(account, first)
console.log(printedAs > 0, welcome !== undefined && welcome.printedAs > 0)

await stream.wait(account, 'wrong')
await stream.wait(invitation, await stream.submit(invitation, { to: 'eve' }))
await stream.wait(newsletter, await stream.submit(newsletter, { edition: 7 }))
console.log(outbox.join(', '), tookMs.has('mail:newsletter'))

// The release before has pushed these, and the second still waits.
const before = defineJob('bill', { input: firstBill })
console.log(await stream.wait(bill, await stream.submit(before, { id: 1, total: 100 })))
await stream.submit(before, { id: 2, total: 50 }, { delayMs: 3_600_000 })

const found = await stream.check([letter, account, bill])
const misfits = found.flatMap((one) => one.misfits.map(({ id, message }) => `${one.name} ${id}: ${message}`))
for (const line of misfits) console.error(line)
if (misfits.length > 0) process.exitCode = 1
await stream.stop()

await watching
console.log(trouble.join('; '))
