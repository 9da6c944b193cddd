/** The producer: it pushes jobs at a set rate, whether or not earlier pushes have been answered. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../speed/database.ts'
import type { Job } from './system.ts'
import { loadSystem } from './systems.ts'
import type { SystemName } from './systems.ts'

export type ProducerOrder =
  | { readonly system: SystemName; readonly connection: Connection; readonly isGrouped: boolean }
  /** Jobs a second from now on. */
  | { readonly rate: number }
  | { readonly stop: true }

export interface Produced {
  /** The pushes that were acknowledged, each with its moment in epoch milliseconds. */
  readonly accepted: readonly (readonly [id: number, pushed: number])[]
  /** How many pushes failed, or were never answered. Such a job may have been pushed, or not. */
  readonly refused: number
  readonly errors: Readonly<Record<string, number>>
}

const tickMs = 10
/** How long the last pushes may take to be answered. */
const patienceMs = 5_000

let push: ((jobs: readonly Job[]) => Promise<unknown>) | undefined
let isGrouped = false
let rate = 0
let jobs = 0
let lastMs = performance.now()
let credit = 0
const accepted: [number, number][] = []
const errors: Record<string, number> = {}
const open = new Set<Promise<void>>()

function tick(): void {
  const now = performance.now()
  credit += (rate * (now - lastMs)) / 1_000
  lastMs = now
  const due: Job[] = []
  for (; credit >= 1; credit--) due.push({ id: ++jobs, pushed: Date.now() })
  for (const group of isGrouped && due.length > 0 ? [due] : due.map((job) => [job])) {
    const pushing = pushAll(group).finally(() => open.delete(pushing))
    open.add(pushing)
  }
}

async function pushAll(group: readonly Job[]): Promise<void> {
  try {
    await push!(group)
    for (const { id, pushed } of group) accepted.push([id, pushed])
  } catch (error) {
    const text = String((error as Error).message || (error as { code?: string }).code)
    errors[text] = (errors[text] ?? 0) + 1
  }
}

process.on('message', async (order: ProducerOrder) => {
  if ('rate' in order) {
    rate = order.rate
    return
  }
  if ('system' in order) {
    push = await (await loadSystem(order.system)).open(order.connection)
    isGrouped = order.isGrouped
    setInterval(tick, tickMs)
    process.send?.({})
    return
  }
  rate = 0
  credit = 0
  await Promise.race([Promise.all(open), sleep(patienceMs)])
  process.send?.({ accepted, refused: jobs - accepted.length, errors } satisfies Produced)
})
process.once('disconnect', () => process.exit())
