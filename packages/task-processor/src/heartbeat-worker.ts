/** The thread of a `ThreadHeartbeat`. Nobody imports it: what a module of the thread imports would wait for it to end. */
import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { hrtimeMs } from './heartbeat-thread.ts'
import type { ThreadData, ThreadMessage } from './heartbeat-thread.ts'
import type { OpenThreadBeat } from './thread-heartbeat.ts'

await beat(workerData as ThreadData, parentPort!)

async function beat({ owner, module, intervalMs, hungMs, shared }: ThreadData, port: MessagePort): Promise<void> {
  const { default: open } = (await import(module)) as { readonly default: OpenThreadBeat }
  const beating = await open(owner)
  const closed = new AbortController()
  port.once('message', () => closed.abort())
  while (!closed.signal.aborted) {
    const sent = process.hrtime.bigint()
    // A main thread that has stood still for too long is as good as dead, and must not be kept alive by this one.
    if (hrtimeMs(sent - Atomics.load(shared, 0)) <= hungMs) {
      try {
        await beating.heartbeat()
        Atomics.store(shared, 1, sent)
        port.postMessage({ beating: true } satisfies ThreadMessage)
      } catch (error) {
        const { message, code } = error as { readonly message: string; readonly code?: unknown }
        port.postMessage({ beating: false, message, code } satisfies ThreadMessage)
      }
    }
    await delay(intervalMs, undefined, { signal: closed.signal }).catch(() => {})
  }
  await beating.close?.()
  port.close()
}
