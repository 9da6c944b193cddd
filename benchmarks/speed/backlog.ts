/** The cost of a poll of a hundred tasks with a long backlog, relative to a short one. */
import { TaskDecision } from '@taskstream/task-api'
import { pgTransactions } from '@taskstream/task-sql/pg'
import { input, topic } from './backlog-task.ts'
import { openBoss } from './boss.ts'
import { openDatabase, poolOf } from './database.ts'
import type { Connection } from './database.ts'
import { fillBoss, fillTaskstream } from './fill.ts'
import { median } from './statistics.ts'
import { prepareTaskstream } from './pushes.ts'
import type { Prepare, Scenario } from './scenario.ts'

const short = 10_000
const size = 100
/** Polls in a round. The polled tasks are pushed again before the next round. */
const polls = 50

interface Poller {
  /** Polls tasks and completes them. @returns the milliseconds that the poll took */
  readonly poll: () => Promise<number>
  readonly push: (count: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** Opens a subject whose backlog has so many tasks. */
type Open = (connection: Connection, backlog: number) => Promise<Poller>

const openTaskstream: Open = async (connection, backlog) => {
  await fillTaskstream(connection, backlog)
  const pool = poolOf(connection, 2)
  const transactions = pgTransactions(pool)
  const tasks = await prepareTaskstream(pool)
  await transactions((transaction) => tasks.register(transaction))
  return {
    poll: async () => {
      const started = performance.now()
      const held = await transactions((transaction) => tasks.poll(transaction, topic, { size }))
      const took = performance.now() - started
      checkFull(held)
      const decisions = new Map(held.map((task) => [task, TaskDecision.success()]))
      await transactions((transaction) => tasks.complete(transaction, topic, decisions))
      return took
    },
    push: async (count) => {
      const creations = Array.from({ length: count }, (_, index) => ({ identifier: `customer ${index}`, input }))
      await transactions((transaction) => tasks.push(transaction, topic, creations))
    },
    close: () => pool.end(),
  }
}

const openPgBoss: Open = async (connection, backlog) => {
  await fillBoss(connection, backlog)
  const boss = await openBoss(connection)
  const data = JSON.parse(input) as object
  return {
    poll: async () => {
      const started = performance.now()
      const jobs = await boss.fetch(topic, { batchSize: size })
      const took = performance.now() - started
      checkFull(jobs)
      await boss.complete(
        topic,
        jobs.map(({ id }) => id),
      )
      return took
    },
    push: async (count) => {
      await boss.insert(
        topic,
        Array.from({ length: count }, () => ({ data })),
      )
    },
    close: () => boss.stop({ graceful: false }),
  }
}

/** graphile-worker is missing: it fetches jobs only for its own workers. */
export const backlogGrowth: Scenario['subjects'] = { taskstream: growth(openTaskstream), 'pg-boss': growth(openPgBoss) }

function growth(open: Open): Prepare {
  return async ({ server, scale }) => {
    const databases = [await openDatabase(server), await openDatabase(server)] as const
    const few = await open(databases[0].connection, short)
    const many = await open(databases[1].connection, scale.backlog)
    // The first polls learn where the backlog begins.
    await growthOf(few, many)
    return {
      measure: () => growthOf(few, many),
      [Symbol.asyncDispose]: async () => {
        await Promise.all([few.close(), many.close()])
        for (const database of databases) await database[Symbol.asyncDispose]()
      },
    }
  }
}

/** Polls alternate between the two, so that other load on the machine slows both. */
async function growthOf(few: Poller, many: Poller): Promise<number> {
  const times = { few: [] as number[], many: [] as number[] }
  while (times.few.length < polls) {
    times.few.push(await few.poll())
    times.many.push(await many.poll())
  }
  for (const poller of [few, many]) await poller.push(polls * size)
  return median(times.many) / median(times.few)
}

function checkFull(held: readonly unknown[]): void {
  if (held.length !== size) throw new Error(`A poll found ${held.length} of ${size}`)
}
