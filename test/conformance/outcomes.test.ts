/** Topics that keep outcomes: their tasks are held by ranges (docs/decisions/ranges.md). */
import { TaskDecision } from '@taskstream/task-api'
import type { FilterState, HeldTask, Task, TaskCount } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Row } from '@taskstream/task-sql'
import { codeOf, names, thrownBy, useFixture } from '@taskstream/task-testing/suite'
import type { Session, Tasks } from '@taskstream/task-testing/suite'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'

describe.skipIf(!canRun)('a topic that keeps outcomes', () => {
  const clock = { now: Date.UTC(2026, 0, 1) }
  const fixture = useFixture(engine, { clock: () => new Date(clock.now), topic: { record: 'outcomes' } })
  let [one, two]: Session[] = []
  let rival: Tasks
  beforeAll(async () => {
    ;[one, two] = [await fixture.subject.session(), await fixture.subject.session()]
    rival = await fixture.owner()
  })

  const ranges = (): Promise<readonly Row[]> =>
    fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`select lo::int, hi::int, state::int, owner from taskstream.task_range where topic = ${fixture.topic} and lo > 0 order by lo`,
      ),
    )
  const statesOfRanges = async (): Promise<number[]> => (await ranges()).map(({ state }) => Number(state))
  const pollBy = (session: Session, size: number, by = rival): Promise<HeldTask[]> =>
    by.poll(session.transaction, fixture.topic, { size }) as Promise<HeldTask[]>
  const expire = (): Promise<unknown> =>
    fixture.commit(async (transaction) => {
      await fixture.tasks.heartbeat(transaction)
      return fixture.tasks.expire(transaction, { olderThanMs: 1_000, then: 'ready' })
    })

  test('writes no row of a task when it is polled, and one row for all of them', async () => {
    await fixture.push(...Array.from({ length: 1_500 }, (_, index) => `t${index}`))
    const held = await fixture.poll(1_500)
    expect(held.map(({ identifier }) => identifier)).toEqual(Array.from({ length: 1_500 }, (_, index) => `t${index}`))
    const stored = await fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`select distinct state::int, attempt, owner from taskstream.task where topic = ${fixture.topic}`,
      ),
    )
    expect(stored).toEqual([{ state: 1, attempt: 0, owner: null }])
    expect(await ranges()).toHaveLength(1)
    expect(await fixture.states()).toEqual({ active: 1_500 })
    expect((await fixture.page())[0]).toMatchObject({ state: 'active', attempt: 1, tries: 1, owner: fixture.tasks.owner })
    await fixture.complete(held.slice(0, 1_000))
    expect(await fixture.states()).toEqual({ active: 500, succeeded: 1_000 })
    await fixture.complete(held.slice(1_000))
    expect(await fixture.states()).toEqual({ succeeded: 1_500 })
    // The owner's later polls end what is worked off, several at a time.
    for (let poll = 0; poll < 10; poll++) {
      await fixture.push('next')
      await fixture.complete(await fixture.poll())
    }
    expect((await statesOfRanges()).filter((state) => state === 0).length).toBeLessThan(10)
  })

  test('finds a task that commits late, before what its producer pushes next, and forgets one that is rolled back', async () => {
    await one!.begin()
    await fixture.tasks.push(one!.transaction, fixture.topic, 'late')
    await fixture.push('a')
    expect(names(await fixture.poll())).toEqual(['a'])
    expect(await statesOfRanges()).toEqual([9, 0])
    await fixture.push('b')
    expect(names(await fixture.poll(1))).toEqual(['b'])
    await one!.commit()
    await fixture.push('next')
    expect(names(await fixture.poll(1))).toEqual(['late'])
    expect(names(await fixture.poll(1))).toEqual(['next'])

    await two!.begin()
    await fixture.tasks.push(two!.transaction, fixture.topic, 'never')
    await fixture.push('c')
    expect(names(await fixture.poll())).toEqual(['c'])
    expect(await statesOfRanges()).toContain(9)
    await two!.rollback()
    await expect
      .poll(async () => {
        await fixture.push('again')
        await fixture.poll()
        return statesOfRanges()
      })
      .not.toContain(9)
  })

  test('keeps other polls waiting for one that stays open, which then get nothing, and gives its tasks back when it is rolled back', async () => {
    await fixture.push('a', 'b')
    await one!.begin()
    expect(names(await pollBy(one!, 1, fixture.tasks))).toEqual(['a'])
    await two!.begin()
    expect(await pollBy(two!, 2)).toEqual([])
    await two!.rollback()
    await one!.rollback()
    expect(names(await fixture.poll(2, rival))).toEqual(['a', 'b'])
  })

  test('lets a poll at another level than READ COMMITTED take nothing, and says so', async () => {
    await fixture.push('a')
    await one!.begin()
    await fixture.subject.execute(one!.transaction, raw('set transaction isolation level repeatable read'))
    expect(await codeOf(() => pollBy(one!, 1))).toBe('ISOLATION_UNSUPPORTED')
    await one!.rollback()
    const refused = await thrownBy(() =>
      fixture.commit((transaction) => fixture.tasks.poll(transaction, fixture.topic, { hold: 'transaction' })),
    )
    expect(refused).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'hold' } })
  })

  test('tells whoever holds a task that it was cancelled, and lets the others be completed', async () => {
    await fixture.push('a', 'b', 'c')
    const held = await fixture.poll(3)
    const { taken } = await fixture.commit((transaction) => fixture.tasks.cancel(transaction, fixture.topic, held[1]!.sequence))
    expect(names(taken)).toEqual(['b'])
    expect(await fixture.commit((transaction) => fixture.tasks.lost(transaction, fixture.topic, held))).toMatchObject([
      { identifier: 'b' },
    ])
    const { completed, lost } = await fixture.complete(held)
    expect([names(completed), names(lost)]).toEqual([['a', 'c'], ['b']])
    expect(await fixture.page()).toMatchObject([
      { state: 'succeeded' },
      { state: 'filtered', reason: 'cancelled', attempt: 1, owner: fixture.tasks.owner },
      { state: 'succeeded' },
    ])
  })

  test('reschedules and purges what is ready, and nothing that is held', async () => {
    await fixture.push('held', 'ready')
    const [held] = await fixture.poll(1)
    const all = (await fixture.page()).map(({ sequence }) => sequence)
    const moved = await fixture.commit((transaction) =>
      fixture.tasks.reschedule(transaction, fixture.topic, all, { delayMs: 60_000 }),
    )
    expect(names(moved)).toEqual(['ready'])
    await fixture.push('fresh')
    expect(await fixture.commit((transaction) => fixture.tasks.purge(transaction, fixture.topic, { states: ['ready'] }))).toBe(1)
    expect(await fixture.states()).toEqual({ active: 1, delayed: 1 })
    expect(await fixture.complete([held!])).toMatchObject({ lost: [] })
  })

  test('waits with a poll for an operator whose transaction is open, and does not give what he takes away', async () => {
    const [a] = await fixture.push('a', 'b')
    await one!.begin()
    await fixture.tasks.cancel(one!.transaction, fixture.topic, a!.sequence)
    expect(await fixture.poll(2, rival)).toEqual([])
    await one!.commit()
    expect(names(await fixture.poll(2, rival))).toEqual(['b'])
  })

  test('gives the tasks of an owner who died to others, in their order and before fresh ones, and tells him that they are lost', async () => {
    await fixture.push('a', 'b')
    const lost = await fixture.poll(2, rival)
    clock.now += 5_000
    await expire()
    expect(await fixture.page()).toMatchObject([
      { state: 'ready', reason: 'lease' },
      { state: 'ready', reason: 'lease' },
    ])
    await fixture.push('c')
    const again = await fixture.poll(3)
    expect(again).toMatchObject([
      { identifier: 'a', attempt: 2, tries: 2 },
      { identifier: 'b', attempt: 2, tries: 2 },
      { identifier: 'c', attempt: 1, tries: 1 },
    ])
    expect(await fixture.complete(lost, TaskDecision.failure(), rival)).toMatchObject({ completed: [], lost: { length: 2 } })
    expect(await fixture.complete(again)).toMatchObject({ lost: [] })
    await fixture.commit((transaction) => rival.register(transaction))
  })

  test('hands back a part of what is held, and the rest is completed', async () => {
    await fixture.push('a', 'b', 'c')
    const [a, b, c] = await fixture.poll(3)
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [b!]))
    expect(await fixture.complete([a!, c!])).toMatchObject({ lost: [] })
    expect(await fixture.poll()).toMatchObject([{ identifier: 'b', attempt: 2, tries: 1 }])
    expect(await fixture.complete([b!])).toMatchObject({ lost: [{ identifier: 'b' }] })
  })

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
    const execute = (statement: Parameters<typeof fixture.subject.execute>[1]): Promise<readonly Row[]> =>
      fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
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
    const held = await fixture.poll(20, rival)
    clock.now += 5_000
    await fixture.commit((transaction) => fixture.tasks.heartbeat(transaction))
    const expiry = await fixture.commit((transaction) =>
      fixture.tasks.expire(transaction, { olderThanMs: 1_000, then: 'ready', limit: 5 }),
    )
    expect(expiry).toMatchObject({ ready: 5 })
    await fixture.commit((transaction) => rival.heartbeat(transaction))
    expect(await fixture.states()).toEqual({ active: 15, ready: 5 })
    expect(await fixture.complete(held, TaskDecision.success(), rival)).toMatchObject({
      completed: { length: 15 },
      lost: { length: 5 },
    })
    expect(await fixture.states()).toEqual({ ready: 5, succeeded: 15 })
    await fixture.complete(await fixture.poll(20))
  })

  test('lets an owner who beats while an expiry is under way complete, hold and hand back what it holds', async () => {
    await fixture.push('a', 'b', 'c')
    const [a, b, c] = await fixture.poll(3, rival)
    // What an expiry leaves that meets a heartbeat between its statements: rows of a range whose owner lives.
    await fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`
          with ended as (update taskstream.task_range set state = 6, owner = null where topic = ${fixture.topic} and state = 0)
          update taskstream.task set state = 0, listed = true, owner = ${rival.owner}, attempt = attempt + 1, tries = tries + 1 where topic = ${fixture.topic}`,
      ),
    )
    const { held } = await fixture.commit((transaction) => rival.hold(transaction, fixture.topic, [a!, b!, c!]))
    expect(names(held)).toEqual(['a', 'b', 'c'])
    expect(await fixture.commit((transaction) => rival.handBack(transaction, fixture.topic, [b!]))).toMatchObject({ lost: [] })
    expect(await fixture.complete([a!, c!], TaskDecision.success(), rival)).toMatchObject({ lost: [] })
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
    await one!.begin()
    await fixture.tasks.hold(one!.transaction, fixture.topic, [d!])
    const reclaim = (): Promise<number> =>
      fixture.commit<number>((transaction) => fixture.tasks.reclaim(transaction, fixture.topic, [c!]))
    expect(await codeOf(reclaim)).toBe('DATABASE_BUSY')
    await one!.commit()
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
      await one!.begin()
      await fixture.tasks.destroy(one!.transaction, topic)
      if (again) await fixture.tasks.initialize(one!.transaction, topic, { record: 'outcomes' })
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
      await one!.commit()
      expect(await push).toEqual(again ? [expect.objectContaining({ identifier: 'a' })] : 'TOPIC_UNKNOWN')
    }
  })

  test('does not let a task that came back overtake fresh ones while another takes them', async () => {
    await fixture.push('a')
    await fixture.push('b')
    const [c] = await fixture.push('c')
    await fixture.commit((transaction) => fixture.tasks.reschedule(transaction, fixture.topic, [c!.sequence], { delayMs: 0 }))
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    await one!.begin()
    expect(names(await pollBy(one!, 1, fixture.tasks))).toEqual(['a'])
    expect(await fixture.poll(1, rival)).toEqual([])
    await one!.commit()
    expect(names(await fixture.poll(2, rival))).toEqual(['b', 'c'])
  })

  test('answers with what is long only after others may poll again', async () => {
    const inputs = Array.from({ length: 50 }, (_, index) => ({ identifier: `t${index}`, input: `${index}`.padEnd(8_000, '.') }))
    const pushed = await fixture.commit<Task[]>((transaction) => fixture.tasks.push(transaction, fixture.topic, inputs))
    const listed = pushed.slice(0, 20).map(({ sequence }) => sequence)
    await fixture.commit((transaction) => fixture.tasks.reschedule(transaction, fixture.topic, listed, { delayMs: 0 }))
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    await one!.begin()
    const answered = await fixture.subject.execute(
      one!.transaction,
      sql`select sum(octet_length(input))::int as bytes, count(sequence)::int as rows from taskstream.task_take_ranges(${fixture.topic}, ${fixture.tasks.owner}, 50, true, null)`,
    )
    expect(answered).toEqual([{ bytes: null, rows: 21 }])
    await one!.rollback()
    const held = await fixture.poll(50)
    expect(held).toMatchObject(inputs)
    expect(await fixture.complete(held)).toMatchObject({ completed: { length: 50 } })
  })

  test('is repaired where a copy of the tables has brought no sequence, an old one, or marks of another server', async () => {
    const execute = (statement: Parameters<typeof fixture.subject.execute>[1]): Promise<readonly Row[]> =>
      fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
    const repair = (): Promise<unknown> => fixture.commit((transaction) => fixture.tasks.repair(transaction, fixture.topic))
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

    await one!.begin()
    await fixture.tasks.push(one!.transaction, fixture.topic, 'never')
    await fixture.push('a')
    expect(names(await fixture.poll())).toEqual(['a'])
    await one!.rollback()
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
    await one!.begin()
    await fixture.tasks.push(one!.transaction, fixture.topic, 'never')
    await fixture.push('a')
    await pollHavingWritten()
    await one!.rollback()
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
