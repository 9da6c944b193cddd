/** A topic begins empty, whatever a former topic of its name has left. */
import { raw, sql } from '@taskstream/task-sql'
import { useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine, isPostgres } from '../subject.ts'

const task = raw(isPostgres ? 'taskstream.task' : 'task')

describe.skipIf(!canRun)('a topic that is initialised', () => {
  const fixture = useFixture(engine)

  // A push that runs beside a destroy of its topic may commit after it.
  test('has none of the tasks that were left under its name', async () => {
    const topic = `${fixture.topic}-again`
    await fixture.push('left', 'left too')
    await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, sql`update ${task} set topic = ${topic} where topic = ${fixture.topic}`),
    )
    await fixture.commit((transaction) => fixture.tasks.initialize(transaction, topic))
    expect(await fixture.commit((transaction) => fixture.tasks.page(transaction, topic))).toEqual([])
  })
})
