/** The most memory, in MiB, of a process that drains a long backlog. */
import { fillBoss, fillGraphile, fillTaskstream } from './fill.ts'
import { mostMemory } from './race.ts'
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
      return mebibytes(await mostMemory({ subject: 'taskstream', connection }, watched, flags))
    },
    'pg-boss': async (connection, { watched }) => {
      const count = Math.min(watched, enough)
      await fillBoss(connection, count)
      return mebibytes(await mostMemory({ subject: 'pg-boss', connection }, count, flags))
    },
    'graphile-worker': async (connection, { watched }) => {
      const count = Math.min(watched, enough)
      await fillGraphile(connection, count)
      return mebibytes(await mostMemory({ subject: 'graphile-worker', connection }, count, flags))
    },
  } satisfies Measures
}

function mebibytes(bytes: number): number {
  return bytes / 2 ** 20
}
