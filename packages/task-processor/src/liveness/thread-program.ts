/**
 * The program of a `ThreadHeartbeat`'s thread, as text: a file of its own would not be found beside a bundle. A bundler may rename whatever it
 * sees, so that the text of a function would not do either. It uses nothing but Node.js, `ThreadData` and `ThreadMessage`.
 */
const program = String.raw`
import { setTimeout as delay } from 'node:timers/promises'
import { parentPort as port, workerData } from 'node:worker_threads'
const { owner, module, intervalMs, hungMs, shared } = workerData
const { default: open } = await import(module)
const beating = await open(owner)
const closed = new AbortController()
port.once('message', () => closed.abort())
while (!closed.signal.aborted) {
  const sent = process.hrtime.bigint()
  // A main thread that has stood still for too long is as good as dead, and must not be kept alive by this one.
  if (Number(sent - Atomics.load(shared, 0)) / 1e6 <= hungMs) {
    try {
      await beating.heartbeat()
      Atomics.store(shared, 1, sent)
      port.postMessage({ beating: true })
    } catch (error) {
      port.postMessage({ beating: false, message: error.message, code: error.code })
    }
  }
  await delay(intervalMs, undefined, { signal: closed.signal }).catch(() => {})
}
await beating.close?.()
port.close()
`

/** A module, and not a text to be evaluated: that would not wait for what `--import` loads first. */
export const heartbeatWorker: URL = new URL(`data:text/javascript,${encodeURIComponent(program)}`)
