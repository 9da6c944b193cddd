/** Latency: the milliseconds from the call that pushes a task to an idle topic until the call of its handler. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startWorker } from './ask.ts'
import { openDatabase } from './database.ts'
import type { LatencyOrder } from './latency-worker.ts'
import type { Figures, Prepare, Scenario } from './scenario.ts'

const idleMs = 10
const lostMs = 60_000

/** Tells a waiting caller that the handler has started. */
export class Bell {
  #ring: () => void = () => {}
  readonly ring = (): void => this.#ring()

  wait(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => reject(new Error(`Nothing was handled for ${lostMs} ms`)), lostMs)
    this.#ring = () => {
      clearTimeout(timer)
      resolve()
    }
    return promise
  }
}

/** A subject that is idle until a task is pushed. */
export interface Idle {
  /** The handler rings this bell. */
  readonly bell: Bell
  push(): Promise<unknown>
}

/** Pushes without pauses until code is compiled and statements are planned, as in a process that has run for a while. */
export async function warmUp(idle: Idle): Promise<void> {
  for (let index = 0; index < 400; index++) await latencyOf(idle)
}

/** The first samples of each round are left out, because another subject has just used the machine. */
const settling = 5

export async function sample(idle: Idle, count: number): Promise<Figures> {
  const times: number[] = []
  for (let index = -settling; index < count; index++) {
    // Waits until the task is completed and the subject is idle again.
    await sleep(idleMs)
    const time = await latencyOf(idle)
    if (index >= 0) times.push(time)
  }
  const sorted = times.toSorted((left, right) => left - right)
  const percentile = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
  return { latency: percentile(0.5), 'latency-p95': percentile(0.95), 'latency-p99': percentile(0.99) }
}

async function latencyOf({ bell, push }: Idle): Promise<number> {
  const rung = bell.wait()
  const started = performance.now()
  const pushed = push()
  await rung
  const time = performance.now() - started
  await pushed
  return time
}

/** Each subject waits through all rounds in a process of its own, as it does in use. */
export const latency: Scenario['subjects'] = Object.fromEntries(
  (['taskstream', 'pg-boss', 'graphile-worker'] as const).map((subject): [string, Prepare] => [
    subject,
    async ({ server, scale }) => {
      await using opened = new AsyncDisposableStack()
      const { connection } = opened.use(await openDatabase(server))
      const worker = opened.use(startWorker('latency-worker.ts'))
      await worker.ask({ connection, subject } satisfies LatencyOrder)
      const kept = opened.move()
      return {
        measure: () => worker.ask<Figures>({ samples: scale.samples } satisfies LatencyOrder),
        [Symbol.asyncDispose]: () => kept.disposeAsync(),
      }
    },
  ]),
)
