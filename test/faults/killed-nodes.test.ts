/** Processes that run a TaskNode are killed with kill -9; the others find out by the lease, and nobody else helps them. */
import type { FilterState, TaskCount } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, openSubject, subjectName, textColumn } from '../subject.ts'
import type { Subject, Tasks } from '../subject.ts'
import { Crew, drawDeaths } from './crew.ts'
import { deaths, holding } from './deaths.ts'
import type { DoomedOrders } from './deaths.ts'

const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
const leaseMs = 2_000
const topics = ['leased', 'transactional'] as const

describe.skipIf(!canRun)(`nodes killed at drawn moments (seed ${seed})`, () => {
  test(
    'leave tasks that the others take up when the lease is over: each is done, and no effect applied twice',
    { timeout: 240_000 },
    async () => {
      await using subject = await openSubject()
      const tasks = subject.tasks()
      await subject.transactions(async (transaction) => {
        for (const topic of topics)
          await tasks.initialize(transaction, topic, topic === 'transactional' ? { record: 'states' } : {})
        await subject.execute(
          transaction,
          sql`create table effect (topic ${textColumn}, identifier ${textColumn}, attempt integer)`,
        )
      })
      using nodes = new Crew({
        program: new URL('doomed-node.ts', import.meta.url),
        size: 3,
        deaths: drawDeaths(deaths, deaths.length, seed),
        orders: (death): DoomedOrders => ({ location: subject.location, leaseMs, ...(death ? { death } : {}) }),
      })
      let pushed = 0
      const push = async (): Promise<void> => {
        const identifiers = Array.from({ length: 50 }, (_, index) => `task-${String(pushed + index).padStart(6, '0')}`)
        await subject.transactions(async (transaction) => {
          for (const topic of topics) await tasks.push(transaction, topic, identifiers)
        })
        pushed += identifiers.length
      }
      const left = async (): Promise<number> => 2 * pushed - (await succeeded(subject, tasks))
      const step = async (): Promise<string> => {
        if (nodes.failures.length > 0) return nodes.failures.join('; ')
        const open = await left()
        // As long as one is to die it has something to do.
        if (nodes.kills < deaths.length && open < 60) await push()
        return nodes.kills < deaths.length ? `${nodes.kills} killed` : `${open} left`
      }
      await expect
        .poll(step, { interval: 20, timeout: 200_000 })
        .toSatisfy((said) => said === '0 left' || nodes.failures.length > 0)

      expect(nodes.failures).toEqual([])
      expect([...nodes.killed.keys()].toSorted()).toEqual(deaths.toSorted())
      const effects = await subject.transactions((transaction) =>
        subject.execute(transaction, sql`select topic, identifier, attempt from effect order by topic, identifier`),
      )
      const done = effects.map(({ topic, identifier }) => `${String(topic)} ${String(identifier)}`)
      expect(new Set(done).size).toBe(done.length)
      expect(done.length).toBe(2 * pushed)
      // Whoever was killed while it held tasks has had them taken up by another.
      const again = effects.reduce((sum, { topic, attempt }) => sum + (topic === 'leased' ? Number(attempt) - 1 : 0), 0)
      expect(again).toBeGreaterThanOrEqual(holding.length)
      console.log(`${subjectName}: ${nodes.kills} nodes killed, ${done.length} tasks, ${again} taken up again, seed ${seed}`)
    },
  )
})

async function succeeded(subject: Subject, tasks: Tasks): Promise<number> {
  const counts = await subject.transactions<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
    tasks.count(transaction),
  )
  return [...counts.values()].reduce((sum, states) => sum + (states.get('succeeded')?.count ?? 0), 0)
}
