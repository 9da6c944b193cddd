/** What somebody has written by hand may be an instant that is no date. PostgreSQL has three ways to say that. */
import { TaskDecision } from '@taskstream/task-api'
import type { PromotedDue, TaskInfo } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { names, useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine, isPostgres } from '../subject.ts'

/** The latest instant that is told of. */
const endOfDates = new Date('+010000-01-01T00:00:00Z')
const latest = ['infinity', '294276-01-01'] as const

describe.skipIf(!canRun || !isPostgres)('an instant that is no date', () => {
  const fixture = useFixture(engine)
  const set = (column: 'due' | 'deadline', sequence: number, value: string): Promise<unknown> =>
    fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`update taskstream.task set ${raw(column)} = ${value}::timestamptz where topic = ${fixture.topic} and sequence = ${sequence}`,
      ),
    )
  const page = (): Promise<readonly TaskInfo[]> =>
    fixture.commit((transaction) => fixture.tasks.page(transaction, fixture.topic, { size: 10 }))

  test.each(latest)('as a deadline, %s keeps no task from being polled, and reads as the year 10000', async (value) => {
    await fixture.nextTopic()
    const [, second] = await fixture.push('a', 'b', 'c')
    await set('deadline', second!.sequence, value)
    const held = await fixture.poll()
    expect(held.map(({ deadline }) => deadline)).toEqual([undefined, endOfDates, undefined])
    await fixture.complete(held, TaskDecision.success())
    expect((await page()).map(({ state }) => state)).toEqual(['succeeded', 'succeeded', 'succeeded'])
  })

  test('as a deadline, minus infinity has passed', async () => {
    await fixture.nextTopic()
    const [first] = await fixture.push('a', 'b')
    await set('deadline', first!.sequence, '-infinity')
    expect(names(await fixture.poll())).toEqual(['b'])
    expect((await page()).map(({ state }) => state)).toEqual(['filtered', 'active'])
  })

  test('as a due time, it is waited for as any other', async () => {
    await fixture.nextTopic()
    const { tasks, topic, commit } = fixture
    const promote = (): Promise<PromotedDue> => commit<PromotedDue>((transaction) => tasks.promoteDue(transaction, topic))
    const [first, second, third] = await fixture.push(
      ...['a', 'b', 'c'].map((identifier) => ({ identifier, delayMs: 3_600_000 })),
    )
    for (const { sequence } of [first!, third!]) await set('due', sequence, 'infinity')
    expect((await promote()).nextDueMs).toBeGreaterThan(3_000_000)
    await set('due', second!.sequence, '-infinity')
    expect((await promote()).nextDueMs).toBeGreaterThan(1e12)
    expect(names(await fixture.poll())).toEqual(['b'])
    expect((await page()).map(({ due }) => due)).toEqual([endOfDates, undefined, endOfDates])
  })
})
