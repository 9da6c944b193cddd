/** What remains right in topics that keep outcomes: after expiry, restore and destruction, and for however long. */
import { TaskDecision } from '@taskstream/task-api'
import type { FilterState, HeldTask, Task, TaskCount } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { codeOf, names, thrownBy } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useOutcomes } from './outcomes.ts'

describe.skipIf(!canRun)('a topic that keeps outcomes, in the long run', () => {
  const outcomes = useOutcomes()
  const { clock, fixture, ranges, statesOfRanges, execute, expire } = outcomes

  test('keeps few ranges, however many polls there were', async () => {
    for (let cycle = 0; cycle < 30; cycle++) {
      await fixture.push(`t${cycle}`)
      await fixture.complete(await fixture.poll(1))
    }
    await fixture.poll()
    expect((await ranges()).length).toBe(30)
    await expire()
    expect((await ranges()).length).toBeLessThan(20)
    await fixture.push('next')
    expect(names(await fixture.poll())).toEqual(['next'])
  })

  test('finds what an earlier release pushes, and what is pushed after its numbers were set back', async () => {
    await fixture.push('a')
    await fixture.complete(await fixture.poll())
    await execute(sql`
      insert into taskstream.task (topic, identifier, listed) select p.topic, 'earlier', p.listing from taskstream.task_topic p where p.topic = ${fixture.topic}`)
    expect(names(await fixture.poll())).toEqual(['earlier'])
    await fixture.push('b')
    await fixture.push('c')
    expect(names(await fixture.poll())).toEqual(['b', 'c'])
    // As a restore of an older copy of the sequence would leave it.
    await execute(
      sql`select pg_catalog.setval(('taskstream.task_block_' || pg_catalog.md5(${fixture.topic}))::regclass, 2)::text`,
    )
    await execute(sql`delete from taskstream.task where topic = ${fixture.topic} and identifier = 'c'`)
    await fixture.push('back')
    expect(names(await fixture.poll())).toEqual(['back'])
  })

  test('is refused where it cannot be, and keeps what it was made with', async () => {
    for (const options of [{ order: 'lifo' }, { condition: 'singular-by-identifier' }, { keyed: true }] as const) {
      const error = await thrownBy(() =>
        fixture.commit((transaction) => fixture.tasks.initialize(transaction, 'refused', { record: 'outcomes', ...options })),
      )
      expect(error).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'record' } })
    }
    const different = (await thrownBy(() =>
      fixture.commit((transaction) => fixture.tasks.initialize(transaction, fixture.topic, { record: 'states' })),
    )) as Error
    expect(different).toMatchObject({ code: 'TOPIC_DIFFERENT' })
    expect(different.message).toContain('record outcomes, not')
  })

  test('leaves to an owner who lives on what an expiry has made rows of, and frees no more at a time than its limit', async () => {
    await fixture.push(...Array.from({ length: 20 }, (_, index) => `t${index}`))
    const held = await fixture.poll(20, outcomes.rival)
    clock.now += 5_000
    await fixture.commit((transaction) => fixture.tasks.heartbeat(transaction))
    const expiry = await fixture.commit((transaction) =>
      fixture.tasks.expire(transaction, { olderThanMs: 1_000, then: 'ready', limit: 5 }),
    )
    expect(expiry).toMatchObject({ ready: 5 })
    await fixture.commit((transaction) => outcomes.rival.heartbeat(transaction))
    expect(await fixture.states()).toEqual({ active: 15, ready: 5 })
    expect(await fixture.complete(held, TaskDecision.success(), outcomes.rival)).toMatchObject({
      completed: { length: 15 },
      lost: { length: 5 },
    })
    expect(await fixture.states()).toEqual({ ready: 5, succeeded: 15 })
    await fixture.complete(await fixture.poll(20))
  })

  test('lets an owner who beats while an expiry is under way complete, hold and hand back what it holds', async () => {
    await fixture.push('a', 'b', 'c')
    const [a, b, c] = await fixture.poll(3, outcomes.rival)
    // What an expiry leaves that meets a heartbeat between its statements: rows of a range whose owner lives.
    await fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`
          with ended as (update taskstream.task_range set state = 6, owner = null where topic = ${fixture.topic} and state = 0)
          update taskstream.task set state = 0, listed = true, owner = ${outcomes.rival.owner}, attempt = attempt + 1, tries = tries + 1 where topic = ${fixture.topic}`,
      ),
    )
    const { held } = await fixture.commit((transaction) => outcomes.rival.hold(transaction, fixture.topic, [a!, b!, c!]))
    expect(names(held)).toEqual(['a', 'b', 'c'])
    expect(await fixture.commit((transaction) => outcomes.rival.handBack(transaction, fixture.topic, [b!]))).toMatchObject({
      lost: [],
    })
    expect(await fixture.complete([a!, c!], TaskDecision.success(), outcomes.rival)).toMatchObject({ lost: [] })
    expect(await fixture.poll()).toMatchObject([{ identifier: 'b', attempt: 2, tries: 1 }])
  })

  test('gives back what its owner does not know of, and keeps what it knows', async () => {
    await fixture.push('a', 'b', 'c')
    const [a, b] = await fixture.poll(3)
    expect(await fixture.commit((transaction) => fixture.tasks.reclaim(transaction, fixture.topic, [a!, b!]))).toBe(1)
    expect(await fixture.complete([a!, b!])).toMatchObject({ lost: [] })
    const [c] = await fixture.poll(3)
    expect(c).toMatchObject({ identifier: 'c', attempt: 2, tries: 1 })

    const [d] = await fixture.push('d').then(() => fixture.poll())
    await outcomes.one.begin()
    await fixture.tasks.hold(outcomes.one.transaction, fixture.topic, [d!])
    const reclaim = (): Promise<number> =>
      fixture.commit<number>((transaction) => fixture.tasks.reclaim(transaction, fixture.topic, [c!]))
    expect(await codeOf(reclaim)).toBe('DATABASE_BUSY')
    await outcomes.one.commit()
    expect(await reclaim()).toBe(1)
  })

  test('draws no number twice when it is destroyed and made again, so that nothing held before fits', async () => {
    const topic = `${fixture.topic}-again`
    const make = (): Promise<unknown> =>
      fixture.commit((transaction) => fixture.tasks.initialize(transaction, topic, { record: 'outcomes' }))
    const held: HeldTask[][] = []
    for (let round = 0; round < 3; round++) {
      await make()
      await fixture.commit((transaction) => fixture.tasks.push(transaction, topic, ['a', 'b']))
      held.push(await fixture.commit<HeldTask[]>((transaction) => fixture.tasks.poll(transaction, topic, { size: 2 })))
      if (round < 2) await fixture.commit((transaction) => fixture.tasks.destroy(transaction, topic))
    }
    const [first, second, third] = held
    expect(new Set(held.flat().map(({ sequence }) => sequence)).size).toBe(6)
    for (const former of [first!, second!])
      expect(
        await fixture.commit((transaction) =>
          fixture.tasks.complete(transaction, topic, new Map(former.map((task) => [task, TaskDecision.success()]))),
        ),
      ).toMatchObject({ completed: [], lost: { length: 2 } })
    expect(
      await fixture.commit((transaction) =>
        fixture.tasks.complete(transaction, topic, new Map(third!.map((task) => [task, TaskDecision.success()]))),
      ),
    ).toMatchObject({ lost: [] })
  })

  test('tells a push that waits for a destroy that the topic is unknown, and lets one go on whose topic is made again', async () => {
    const topic = `${fixture.topic}-gone`
    for (const again of [false, true]) {
      await fixture.commit((transaction) => fixture.tasks.initialize(transaction, topic, { record: 'outcomes' }))
      await outcomes.one.begin()
      await fixture.tasks.destroy(outcomes.one.transaction, topic)
      if (again) await fixture.tasks.initialize(outcomes.one.transaction, topic, { record: 'outcomes' })
      const push = codeOf(() => fixture.commit((transaction) => fixture.tasks.push(transaction, topic, ['a'])))
      await expect
        .poll(() =>
          fixture.commit((transaction) =>
            fixture.subject.execute(
              transaction,
              raw(
                'select count(*)::int as waiting from pg_locks l join pg_database d on d.oid = l.database where not l.granted and d.datname = current_database()',
              ),
            ),
          ),
        )
        .toEqual([{ waiting: 1 }])
      await outcomes.one.commit()
      expect(await push).toEqual(again ? [expect.objectContaining({ identifier: 'a' })] : 'TOPIC_UNKNOWN')
    }
  })

  test('is repaired where a copy of the tables has brought no sequence, an old one, or marks of another server', async () => {
    const repair = (): Promise<unknown> => fixture.commit((transaction) => fixture.tasks.repair(transaction, fixture.topic))
    // Nothing was pushed here yet, and a copy brings a task with the first number.
    await execute(sql`
      insert into taskstream.task (topic, identifier, sequence)
      select ${fixture.topic}, 'copied', r.hi + 1 from taskstream.task_range r where r.topic = ${fixture.topic}`)
    await repair()
    await fixture.push('after the first')
    expect(names(await fixture.poll(9))).toEqual(['copied', 'after the first'])

    for (let push = 0; push < 5; push++) await fixture.push(`t${push}`)
    await fixture.poll(3)
    const [{ name } = {}] = await execute(sql`select 'taskstream.task_block_' || pg_catalog.md5(${fixture.topic}) as name`)
    await execute(sql`select pg_catalog.setval(${String(name)}::regclass, 1)::text`)
    await repair()
    await fixture.push('after an old one')
    await execute(raw(`drop sequence ${String(name)}`))
    await repair()
    await fixture.push('after none')
    expect(names(await fixture.poll(10))).toEqual(['t3', 't4', 'after an old one', 'after none'])

    await outcomes.one.begin()
    await fixture.tasks.push(outcomes.one.transaction, fixture.topic, 'never')
    await fixture.push('a')
    expect(names(await fixture.poll())).toEqual(['a'])
    await outcomes.one.rollback()
    await execute(
      sql`update taskstream.task_range set mark = '9000000000000000'::xid8 where topic = ${fixture.topic} and state = 9`,
    )
    await expect
      .poll(async () => {
        await fixture.push('again')
        await fixture.poll()
        return statesOfRanges()
      })
      .not.toContain(9)
  })

  test('forgets blocks that never come, also if each poll is part of a transaction that has written', async () => {
    const pollHavingWritten = (): Promise<HeldTask[]> =>
      fixture.commit<HeldTask[]>(async (transaction) => {
        await fixture.tasks.heartbeat(transaction)
        return fixture.tasks.poll(transaction, fixture.topic, { size: 10 })
      })
    await outcomes.one.begin()
    await fixture.tasks.push(outcomes.one.transaction, fixture.topic, 'never')
    await fixture.push('a')
    await pollHavingWritten()
    await outcomes.one.rollback()
    expect(await statesOfRanges()).toContain(9)
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000 }))
    await expect
      .poll(async () => {
        await fixture.push('again')
        await pollHavingWritten()
        return statesOfRanges()
      })
      .not.toContain(9)
  })

  test('may need tasks of its own, and none of other topics, nor they of it', async () => {
    const other = `${fixture.topic}-states`
    const [mine, others] = await fixture.commit(async (transaction) => {
      await fixture.tasks.initialize(transaction, other, { record: 'states' })
      const suspended = { identifier: 'after', suspended: true }
      return [
        await fixture.tasks.push(transaction, fixture.topic, ['first', suspended]),
        await fixture.tasks.push(transaction, other, ['first', suspended]),
      ]
    })
    const depend = (task: Task, needed: Task): Promise<unknown> =>
      codeOf(() => fixture.commit((transaction) => fixture.tasks.depend(transaction, task, [{ need: 'a', on: needed }])))
    expect(await depend(mine![1]!, others![0]!)).toBe('ARGUMENT_INVALID')
    expect(await depend(others![1]!, mine![0]!)).toBe('ARGUMENT_INVALID')
    expect(await depend(mine![1]!, mine![0]!)).toBeUndefined()
  })

  test('passes what has ended before it was taken, however much there is', async () => {
    await fixture.push(...Array.from({ length: 3_000 }, (_, index) => `t${index}`))
    await fixture.push('last')
    const sequences = (
      await fixture.commit<readonly { sequence: number }[]>((transaction) =>
        fixture.tasks.page(transaction, fixture.topic, { size: 3_000 }),
      )
    ).map(({ sequence }) => sequence)
    for (let from = 0; from < sequences.length; from += 1_000)
      await fixture.commit((transaction) => fixture.tasks.cancel(transaction, fixture.topic, sequences.slice(from, from + 1_000)))
    expect(names(await fixture.poll(1))).toEqual(['last'])
    const counts = await fixture.commit<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
      fixture.tasks.count(transaction, { topic: fixture.topic }),
    )
    expect(counts.get(fixture.topic)!.get('filtered')).toMatchObject({ count: 3_000 })
  })
})
