/** The most memory of a process that drains a long backlog, in MiB. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Connection } from '../hot-path/database.ts'
import { fillBoss, fillGraphile, fillTaskstream } from './fill.ts'
import type { MemoryOrder, MemoryReport } from './memory-worker.ts'
import type { Measures } from './scenario.ts'

/** Peers get no more than this: ten million would take them most of an hour, and they have long come to what they use by then. */
const enough = 1_000_000

export const memory: Measures = {
  taskstream: async (connection, { watched }) => {
    await fillTaskstream(connection, watched)
    return watch(connection, 'taskstream', watched)
  },
  'pg-boss': async (connection, { watched }) => {
    const count = Math.min(watched, enough)
    await fillBoss(connection, count)
    return watch(connection, 'pg-boss', count)
  },
  'graphile-worker': async (connection, { watched }) => {
    const count = Math.min(watched, enough)
    await fillGraphile(connection, count)
    return watch(connection, 'graphile-worker', count)
  },
}

async function watch(connection: Connection, subject: MemoryOrder['subject'], expected: number): Promise<number> {
  const child = fork(new URL('memory-worker.ts', import.meta.url), { stdio: 'inherit' })
  const answered = once(child, 'message') as Promise<[MemoryReport]>
  const exited = once(child, 'exit').then(() => undefined)
  const order: MemoryOrder = { connection, subject, expected }
  child.send(order)
  const answer = await Promise.race([answered, exited])
  if (!answer) throw new Error(`The process of ${subject} has ended without a word`)
  await exited
  return answer[0].bytes / 2 ** 20
}
