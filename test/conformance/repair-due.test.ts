/** What somebody has made ready by hand, with its due time left as it was. */
import { TaskDecision } from '@taskstream/task-api'
import type { PromotedDue, Repair } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { names, useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine, isPostgres } from '../subject.ts'

const task = raw(isPostgres ? 'taskstream.task' : 'task')
const isTrue = raw(isPostgres ? 'true' : '1')
const nothing = { topics: 1, corrected: 0, listed: 0, noted: 0, held: 0, left: 0, sequence: 'ahead' }

describe.skipIf(!canRun)('repair', () => {
  const fixture = useFixture(engine)
  const run = (statement: Statement): Promise<unknown> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  const repair = (): Promise<Repair> => fixture.commit<Repair>((transaction) => fixture.tasks.repair(transaction, fixture.topic))

  test('takes a due time away from what does not wait for it, which until then hides nothing', async () => {
    await fixture.nextTopic()
    const { tasks, topic, commit } = fixture
    const [first] = await fixture.push({ identifier: 'a', delayMs: 1 }, { identifier: 'b', delayMs: 3_600_000 })
    await run(sql`update ${task} set state = 1, listed = ${isTrue} where topic = ${topic} and sequence = ${first!.sequence}`)
    const { nextDueMs } = await commit<PromotedDue>((transaction) => tasks.promoteDue(transaction, topic))
    expect(nextDueMs).toBeGreaterThan(3_000_000)
    expect(await repair()).toEqual({ ...nothing, corrected: 1 })
    expect(await repair()).toEqual(nothing)
    const held = await fixture.poll()
    expect(names(held)).toEqual(['a'])
    await fixture.complete(held, TaskDecision.success())
    const [row] = await commit((transaction) =>
      fixture.subject.execute(transaction, sql`select count(*) as count from ${task} where topic = ${topic} and due is not null`),
    )
    expect(Number(row!['count'])).toBe(1)
  })
})
