/** The most memory of a process that drains a long backlog, in MiB. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Connection } from '../hot-path/database.ts'
import { fillBoss, fillGraphile, fillTaskstream } from './fill.ts'
import type { MemoryOrder, MemoryReport } from './memory-worker.ts'
import type { Measures } from './scenario.ts'

/** Peers get no more than this: ten million would take them most of an hour, and they have long come to what they use by then. */
const enough = 1_000_000

/**
 * As docs/performance.md says of a process that does nothing but work off tasks; and as Node.js does without being told, which lets its young
 * generation grow with the machine. Type stripping takes some 30 MiB of each.
 */
const small = ['--max-semi-space-size=4']

export const memory: Measures = measures(small)
export const memoryByDefault: Measures = { taskstream: measures([]).taskstream }

function measures(flags: readonly string[]) {
  return {
    taskstream: async (connection, { watched }) => {
      await fillTaskstream(connection, watched)
      return watch(connection, 'taskstream', watched, flags)
    },
    'pg-boss': async (connection, { watched }) => {
      const count = Math.min(watched, enough)
      await fillBoss(connection, count)
      return watch(connection, 'pg-boss', count, flags)
    },
    'graphile-worker': async (connection, { watched }) => {
      const count = Math.min(watched, enough)
      await fillGraphile(connection, count)
      return watch(connection, 'graphile-worker', count, flags)
    },
  } satisfies Measures
}

async function watch(
  connection: Connection,
  subject: MemoryOrder['subject'],
  expected: number,
  flags: readonly string[],
): Promise<number> {
  const child = fork(new URL('memory-worker.ts', import.meta.url), {
    stdio: 'inherit',
    execArgv: [...process.execArgv, ...flags],
  })
  const answered = once(child, 'message') as Promise<[MemoryReport]>
  const exited = once(child, 'exit').then(() => undefined)
  const order: MemoryOrder = { connection, subject, expected }
  child.send(order)
  const answer = await Promise.race([answered, exited])
  if (!answer) throw new Error(`The process of ${subject} has ended without a word`)
  await exited
  return answer[0].bytes / 2 ** 20
}
