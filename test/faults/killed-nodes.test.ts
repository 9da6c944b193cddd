/** Processes that run a TaskNode are killed with kill -9; the others find out by the lease, and nobody else helps them. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { FilterState, TaskCount } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canRun, openSubject, subjectName, textColumn } from '../subject.ts'
import type { Subject, Tasks } from '../subject.ts'
import { deaths, holding } from './deaths.ts'
import type { Death, DoomedOrders } from './deaths.ts'

const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
const crew = 3
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
        for (const topic of topics) await tasks.initialize(transaction, topic)
        await subject.execute(
          transaction,
          sql`create table effect (topic ${textColumn}, identifier ${textColumn}, attempt integer)`,
        )
      })
      using nodes = new DoomedNodes(subject.location)
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
        if (nodes.killed.length < deaths.length && open < 60) await push()
        return nodes.killed.length < deaths.length ? `${nodes.killed.length} killed` : `${open} left`
      }
      await expect
        .poll(step, { interval: 20, timeout: 200_000 })
        .toSatisfy((said) => said === '0 left' || nodes.failures.length > 0)

      expect(nodes.failures).toEqual([])
      expect(nodes.killed.toSorted()).toEqual(deaths.toSorted())
      const effects = await subject.transactions((transaction) =>
        subject.execute(transaction, sql`select topic, identifier, attempt from effect order by topic, identifier`),
      )
      const done = effects.map(({ topic, identifier }) => `${String(topic)} ${String(identifier)}`)
      expect(new Set(done).size).toBe(done.length)
      expect(done.length).toBe(2 * pushed)
      // Whoever was killed while it held tasks has had them taken up by another.
      const again = effects.reduce((sum, { topic, attempt }) => sum + (topic === 'leased' ? Number(attempt) - 1 : 0), 0)
      expect(again).toBeGreaterThanOrEqual(holding.length)
      console.log(
        `${subjectName}: ${nodes.killed.length} nodes killed, ${done.length} tasks, ${again} taken up again, seed ${seed}`,
      )
    },
  )
})

/** As many nodes as there are to be: whoever dies is followed by another, until every death has been died. */
class DoomedNodes {
  readonly killed: Death[] = []
  /** Ends that nobody ordered. */
  readonly failures: string[] = []
  readonly #location: Subject['location']
  readonly #nodes: Set<ChildProcess> = new Set()
  readonly #orders: NonNullable<DoomedOrders['death']>[]

  constructor(location: Subject['location']) {
    this.#location = location
    const [order = [...deaths]] = fc.sample(fc.shuffledSubarray([...deaths], { minLength: deaths.length }), { seed, numRuns: 1 })
    const passes = fc.sample(fc.integer({ min: 0, max: 4 }), { seed, numRuns: deaths.length })
    this.#orders = order.map((moment, index) => ({ moment, passes: passes[index] ?? 0 }))
    for (let count = 0; count < crew; count++) this.#start()
  }

  #start(): void {
    const death = this.#orders.pop()
    const orders: DoomedOrders = { location: this.#location, leaseMs, ...(death ? { death } : {}) }
    const node = fork(new URL('doomed-node.ts', import.meta.url), [JSON.stringify(orders)], {
      execArgv: ['--conditions=@taskstream/source'],
    })
    this.#nodes.add(node)
    node.once('exit', (code, signal) => {
      if (!this.#nodes.delete(node)) return
      if (signal === 'SIGKILL' && death) this.killed.push(death.moment)
      else this.failures.push(`a node that was to ${death ? `die (${death.moment})` : 'live'} ended with ${code ?? signal}`)
      this.#start()
    })
  }

  [Symbol.dispose](): void {
    const nodes = [...this.#nodes]
    this.#nodes.clear()
    for (const node of nodes) node.kill('SIGKILL')
  }
}

async function succeeded(subject: Subject, tasks: Tasks): Promise<number> {
  const counts = await subject.transactions<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
    tasks.count(transaction),
  )
  return [...counts.values()].reduce((sum, states) => sum + (states.get('succeeded')?.count ?? 0), 0)
}
