/** Rechecks are noted for topics with a condition, and for no others. */
import type { PollOrder, Repair, TaskError } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun, isPostgres } from '../subject.ts'
import { columnSteps } from './column-steps.ts'
import type { Fixture } from '@taskstream/task-testing/suite'

const task = raw(isPostgres ? 'taskstream.task' : 'task')
const turn = raw(isPostgres ? 'taskstream.task_turn' : 'task_turn')
const orders: readonly PollOrder[] = ['fifo', 'lifo', 'priority']

describe.skipIf(!canRun)('notes', () => {
  const { open, steps, walk } = columnSteps()
  let fixture: Fixture
  beforeAll(async () => void (fixture = await open()))
  afterAll(() => fixture[Symbol.asyncDispose]())

  const notes = async (): Promise<number> => {
    const [row] = await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, sql`select count(*) as count from ${turn} where topic = ${fixture.topic}`),
    )
    return Number(row!['count'])
  }

  const kinds = orders.flatMap((order) => [true, false].map((keyed) => ({ order, keyed })))

  test.each(kinds)('are left by no verb in a topic without a condition: order $order, keyed $keyed', async (options) => {
    await fixture.nextTopic(options)
    for (const name of Object.keys(steps)) {
      // A topic that is not keyed refuses some of the verbs.
      await walk(name).catch((error: TaskError) => {
        if (options.keyed || error.code !== 'TOPIC_NOT_KEYED') throw error
      })
      expect([name, await notes()]).toEqual([name, 0])
      await fixture.commit((transaction) => fixture.tasks.purgeAll(transaction, fixture.topic))
    }
  })

  test('are gone once a poll has looked at them, one as well as many', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    for (const identifiers of [['a'], ['a', 'b', 'c']]) {
      for (let count = 0; count < 2; count++) await fixture.push(...identifiers)
      for (let count = 0; count < 2; count++) {
        await fixture.complete(await fixture.poll())
        expect(await notes()).toBe(identifiers.length)
      }
      expect(await fixture.poll()).toEqual([])
      expect(await notes()).toBe(0)
    }
  })

  test('are made by repair of each identifier of whom a row was wrong, once, and counted', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    await fixture.push('a', 'b', 'c')
    await fixture.complete(await fixture.poll())
    await fixture.push('a', 'b')
    await fixture.complete(await fixture.poll())
    expect(await fixture.poll()).toEqual([])
    expect(await notes()).toBe(0)
    const wrong = sql`update ${task} set stage = 0 where topic = ${fixture.topic} and identifier <> 'c'`
    await fixture.commit((transaction) => fixture.subject.execute(transaction, wrong))
    const repaired = await fixture.commit<Repair>((transaction) => fixture.tasks.repair(transaction, fixture.topic))
    expect(repaired).toMatchObject({ corrected: 4, noted: 2 })
    expect(await notes()).toBe(2)
  })
})
