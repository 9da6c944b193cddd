/** The most memory, in MiB, of a process that drains a long backlog. */
import { ask } from './ask.ts'
import type { Connection } from './database.ts'
import { fillBoss, fillGraphile, fillTaskstream } from './fill.ts'
import type { MemoryOrder, MemoryReport } from './memory-worker.ts'
import type { Measures } from './scenario.ts'

/** The most tasks for peers. Ten million would take them most of an hour, and their memory no longer grows by then. */
const enough = 1_000_000

/**
 * The flag that docs/performance.md advises for a process that only works off tasks. Without it Node.js lets its young generation
 * grow with the machine. Type stripping takes some 30 MiB of each process.
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
  const order: MemoryOrder = { connection, subject, expected }
  const { bytes } = await ask<MemoryReport>('memory-worker.ts', order, flags)
  return bytes / 2 ** 20
}
