import { defineJob, defineQueue, exponential, json, TaskDecision } from 'taskstream'
import { openDatabase } from './database.ts'

/** The contract with the partner: five calls at a time, twenty a second. All processes keep it together. */
const partner = defineQueue('partner', {
  limits: { total: 5, rate: { count: 20, perMs: 1_000 } },
  retry: exponential({ tries: 8, firstMs: 1_000, maxMs: 600_000 }),
  timeoutMs: 10_000,
})
const syncCustomer = defineJob('partner:customer', { queue: partner, input: json<{ id: number }>() })

/** Stands for the partner: it counts, and is once busy in spite of the contract. */
const service = { atOnce: 0, most: 0, starts: [] as number[], busy: 1 }
async function call(_id: number, signal: AbortSignal): Promise<{ status: number; retryAfterMs: number }> {
  signal.throwIfAborted()
  if (service.busy-- > 0) return { status: 429, retryAfterMs: 100 }
  service.starts.push(performance.now())
  service.most = Math.max(service.most, ++service.atOnce)
  await new Promise((resolve) => setTimeout(resolve, 20))
  service.atOnce--
  return { status: 200, retryAfterMs: 0 }
}

const { newStream, close } = openDatabase<object>()

/** A process. Two of them share what the queue allows. */
function worker(): ReturnType<typeof newStream> {
  const stream = newStream({ listener: {} })
  stream.handle(syncCustomer, async ({ input, signal }) => {
    const { status, retryAfterMs } = await call(input.id, signal)
    // A snooze uses up no try: the partner was busy, and the job has done nothing wrong.
    if (status === 429) return TaskDecision.snooze({ afterMs: retryAfterMs }, 'asked to wait')
    if (status >= 400) throw new Error(`the partner answers ${status}`)
    return undefined
  })
  stream.route(partner, {}, { concurrency: 20 })
  return stream
}

const workers = [worker(), worker()]
for (const one of workers) await one.start()
const [first] = workers
const jobs = []
for (let id = 0; id < 40; id++) jobs.push(await first!.submit(syncCustomer, { id }))
for (const job of jobs) await first!.wait(syncCustomer, job)

const { starts, most } = service
const tookMs = starts.at(-1)! - starts[0]!
console.log(`${starts.length} calls, ${most <= 5 ? 'never more than 5' : most} at a time`)
// Twenty at once, as many had gathered, and then one every 50 ms.
console.log(tookMs > 900 ? 'the rate was kept' : `too fast: ${tookMs} ms`)
for (const one of workers) await one.stop()
await close()
