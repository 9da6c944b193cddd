/** `repair` corrects the classes of rows in the order `shared`. */
import type { Repair } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { names, openFixture, whileTested } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine, isPostgres } from '../subject.ts'

const task = raw(isPostgres ? 'taskstream.task' : 'task')

describe.skipIf(!canRun)('repair', () => {
  const fixture = whileTested(() => openFixture(engine))

  test('gives each row of a topic that identifiers share the class that it had before', async () => {
    await fixture.nextTopic({ order: 'shared' })
    await fixture.push('a', { identifier: 'b', priority: -1 }, 'c', { identifier: 'd', delayMs: 60_000 })
    await fixture.poll(1)
    const classes = async (): Promise<number[]> => {
      const reading = sql`select t.stage from ${task} t where t.topic = ${fixture.topic} order by t.sequence`
      const rows = await fixture.commit((transaction) => fixture.subject.execute(transaction, reading))
      return rows.map(({ stage }) => Number(stage))
    }
    const before = await classes()
    expect(new Set(before).size).toBe(3)
    for (const wrong of new Set(before)) {
      const setting = sql`update ${task} set stage = ${wrong} where topic = ${fixture.topic}`
      await fixture.commit((transaction) => fixture.subject.execute(transaction, setting))
      const repaired = await fixture.commit<Repair>((transaction) => fixture.tasks.repair(transaction, fixture.topic))
      expect(repaired).toMatchObject({ corrected: before.filter((one) => one !== wrong).length, left: 0 })
      expect(await classes()).toEqual(before)
    }
    expect(names(await fixture.poll(9)).toSorted()).toEqual(['b', 'c'])
  })
})
