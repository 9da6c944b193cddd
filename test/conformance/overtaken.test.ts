/** What another transaction commits between two statements of a verb counts: the verb does not write by what it has read before. */
import type { Expiry, Repair } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { names, useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { byStatements } from '../engines/by-statements.ts'
import { canRun, engine, isPostgres } from '../subject.ts'
import type { Tasks } from '../subject.ts'

describe.skipIf(!canRun)('a verb that another transaction has overtaken', () => {
  const fixture = useFixture(engine)

  /** A repository of the same owner. Before its first change of tasks it waits until `rival` has committed. */
  const overtaken = (by: Tasks, rival: () => Promise<unknown>): Tasks => {
    let isFirst = true
    return fixture.subject.tasks({
      // From inside a function nobody can be let in between two statements.
      ...(isPostgres && byStatements()),
      speaksFor: by.owner,
      adapt: (adapter) => ({
        ...adapter,
        execute: async (transaction, statement, plan) => {
          if (isFirst && /update \S*task as t\s+set\s/.test(statement.texts.join('?'))) {
            isFirst = false
            await rival()
          }
          return adapter.execute(transaction, statement, plan)
        },
      }),
    })
  }

  test('does not poll what was cancelled', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    const [a] = await fixture.push('a', 'b')
    const polling = overtaken(fixture.tasks, () =>
      fixture.commit((transaction) => fixture.tasks.cancel(transaction, fixture.topic, a!.sequence)),
    )
    expect(names(await fixture.poll(9, polling))).toEqual(['b'])
    expect(await fixture.states()).toEqual({ filtered: 1, active: 1 })
  })

  test('does not expire the tasks of an owner that has come back', async () => {
    const holder = await fixture.owner()
    await fixture.push('a')
    const held = await fixture.poll(1, holder)
    await fixture.commit((transaction) => holder.unregister(transaction))
    const expiring = overtaken(fixture.tasks, () => fixture.commit((transaction) => holder.register(transaction)))
    const expiry = fixture.commit<Expiry>((transaction) => expiring.expire(transaction, { olderThanMs: 86_400_000 }))
    expect(await expiry).toMatchObject({ expired: 0, topics: [] })
    expect(await fixture.complete(held, undefined, holder)).toMatchObject({ lost: [] })
  })

  test('does not count as repaired what was repaired', async () => {
    await fixture.nextTopic({ order: 'lifo' })
    await fixture.push('a')
    await fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`update ${raw('taskstream.task')} set ranked = true where topic = ${fixture.topic}`,
      ),
    )
    const right = sql`update ${raw('taskstream.task')} set ranked = false where topic = ${fixture.topic}`
    const repairing = overtaken(fixture.tasks, () => fixture.commit((transaction) => fixture.subject.execute(transaction, right)))
    const repaired = fixture.commit<Repair>((transaction) => repairing.repair(transaction, fixture.topic))
    expect(await repaired).toMatchObject({ corrected: 0, left: 0 })
    expect(names(await fixture.poll())).toEqual(['a'])
  })
})
