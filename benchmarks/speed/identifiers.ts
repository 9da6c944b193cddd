/**
 * Topics of which one task of an identifier is worked on at a time: drains with few and with many identifiers, and a poll that
 * finds all tasks blocked.
 */
import { pgTransactions } from '@taskstream/task-sql/pg'
import type pg from 'pg'
import { input, topic } from './backlog-task.ts'
import { openDatabase, poolOf } from './database.ts'
import type { Connection } from './database.ts'
import { median } from './statistics.ts'
import { repository } from './product.ts'
import type { Measures, Scale, Scenario } from './scenario.ts'
import { race } from './race.ts'

const condition = 'singular-by-identifier'
const batch = 1000

export function identifiers(count: number, tasks: (scale: Scale) => number): Measures {
  return {
    taskstream: async (connection, scale) => {
      const pool = poolOf(connection, 2)
      await pushAll(pool, tasks(scale), (index) => `customer ${index % count}`)
      await pool.end()
      return race([{ subject: 'taskstream', connection }], tasks(scale))
    },
  }
}

async function pushAll(pool: pg.Pool, count: number, identifierOf: (index: number) => string): Promise<void> {
  const tasks = repository()
  const transactions = pgTransactions(pool)
  await tasks.migrate(transactions)
  await transactions((transaction) => tasks.initialize(transaction, topic, { condition }))
  for (let from = 0; from < count; from += batch) {
    const creations = Array.from({ length: Math.min(batch, count - from) }, (_, index) => ({
      identifier: identifierOf(from + index),
      input,
    }))
    await transactions((transaction) => tasks.push(transaction, topic, creations))
  }
}

const polls = 200
/** A poll that takes longer is still tidying. */
const quickMs = 5
/** After so many quick polls in a row nothing is left to be tidied. */
const tidy = 5
const patienceMs = 300_000

export const blocked: Scenario['subjects'] = {
  taskstream: async ({ server, scale }) => {
    const database = await openDatabase(server)
    const pool = poolOf(database.connection, 2)
    await pushAll(pool, scale.blocked, () => 'customer')
    const pollOnce = await poller(database.connection, pool)
    const started = performance.now()
    // The first poll has taken the task for which all others wait, so further polls only tidy.
    for (let row = 0; row < tidy && performance.now() - started < patienceMs;) row = (await pollOnce()) < quickMs ? row + 1 : 0
    return {
      measure: async () => {
        const times: number[] = []
        while (times.length < polls) times.push(await pollOnce())
        return median(times)
      },
      [Symbol.asyncDispose]: async () => {
        await pool.end()
        await database[Symbol.asyncDispose]()
      },
    }
  },
}

/** Polls and completes nothing, so the one task that it has taken stays active. */
async function poller(connection: Connection, pool: pg.Pool): Promise<() => Promise<number>> {
  const tasks = repository()
  const transactions = pgTransactions(pool)
  await transactions((transaction) => tasks.register(transaction))
  const poll = (): Promise<readonly unknown[]> => transactions((transaction) => tasks.poll(transaction, topic, { size: 100 }))
  const first = await poll()
  if (first.length !== 1) throw new Error(`${first.length} tasks of one identifier were taken in ${connection.database}`)
  return async () => {
    const started = performance.now()
    const held = await poll()
    if (held.length > 0) throw new Error(`A poll found ${held.length} tasks that are to be blocked`)
    return performance.now() - started
  }
}
