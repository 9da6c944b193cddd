/** A process that drains a backlog with one subject, loads no other, and reports the most memory that it had. */
import type { Connection } from './database.ts'

export interface MemoryOrder {
  readonly connection: Connection
  readonly subject: 'taskstream' | 'pg-boss' | 'graphile-worker'
  readonly expected: number
}

export interface MemoryReport {
  readonly bytes: number
}

/** Drains with one subject. Resolves when so many tasks are done. */
export type DrainBacklog = (connection: Connection, expected: number) => Promise<void>

const drains: Readonly<Record<MemoryOrder['subject'], () => Promise<{ readonly drainBacklog: DrainBacklog }>>> = {
  taskstream: () => import('./memory-taskstream.ts'),
  'pg-boss': () => import('./memory-boss.ts'),
  'graphile-worker': () => import('./memory-graphile.ts'),
}
const everyMs = 100

process.once('message', (order: MemoryOrder) => void drain(order))

async function drain({ connection, subject, expected }: MemoryOrder): Promise<void> {
  let bytes = 0
  const look = (): void => {
    bytes = Math.max(bytes, process.memoryUsage.rss())
  }
  const timer = setInterval(look, everyMs)
  const { drainBacklog } = await drains[subject]()
  await drainBacklog(connection, expected)
  look()
  clearInterval(timer)
  const report: MemoryReport = { bytes }
  process.send?.(report)
  process.disconnect()
}
