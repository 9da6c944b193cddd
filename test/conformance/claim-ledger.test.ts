/** The claim ledger of PostgreSQL: which records polls leave, which are tidied away, and that no held task is missed for it. */
import type { Expiry, HeldTask, SlotGrant, TopicLimits, TopicOptions } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { names, useFixture } from '@taskstream/task-testing/suite'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Session, Tasks } from '../subject.ts'
import { testOn } from '../test-on.ts'

/** How many sequences a record stands for. */
const size = 8_192

describe.skipIf(!canRun)('the claim ledger', () => {
  const fixture = useFixture(engine)
  let session: Session
  let owner: Tasks
  let other: Tasks
  /** The first sequence of a chunk that no test has used. */
  let base = 0
  beforeAll(async () => {
    session = await fixture.subject.session()
  })
  beforeEach(async () => {
    base += 10 * size
    await run(raw('delete from taskstream.task_holding'))
    owner = await fixture.owner()
    other = await fixture.owner()
  })

  const run = (statement: Statement): ReturnType<typeof fixture.subject.execute> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  /** Pushes a task that gets this sequence, counted from `base`. */
  const push = async (identifier: string, sequence: number): Promise<void> => {
    await run(sql`select setval('taskstream.task_sequence', ${base + sequence - 1})`)
    await fixture.push(identifier)
  }
  /** Pushes and polls the tasks one by one, so that none is taken for one that was passed over. */
  const take = async (tasks: Readonly<Record<string, number>>, by = owner): Promise<HeldTask[]> => {
    const held: HeldTask[] = []
    for (const [identifier, sequence] of Object.entries(tasks)) {
      await push(identifier, sequence)
      const batch = await fixture.poll(10, by)
      expect(names(batch)).toEqual([identifier])
      held.push(...batch)
    }
    return held
  }
  /** The chunks that the ledger has for an owner in the current topic, counted from `base`. */
  const chunks = async (of = owner): Promise<number[]> => {
    const rows = await run(
      sql`select chunk from taskstream.task_holding where topic = ${fixture.topic} and owner = ${of.owner} order by chunk`,
    )
    return rows.map(({ chunk }) => Number(chunk) - base / size)
  }
  const record = (chunk: number, of = owner): Promise<unknown> =>
    run(
      sql`insert into taskstream.task_holding (topic, owner, chunk) values (${fixture.topic}, ${of.owner}, ${base / size + chunk})`,
    )
  const forget = (of: Tasks): Promise<unknown> => run(sql`delete from taskstream.task_holding where owner = ${of.owner}`)
  const listed = async (): Promise<string[]> => {
    const rows = await run(
      sql`select identifier from taskstream.task where topic = ${fixture.topic} and listed order by sequence`,
    )
    return rows.map(({ identifier }) => String(identifier))
  }
  /** Sets the low watermark of the current topic, counted from `base`, as polls do once nothing below it is ready. */
  const pass = (sequence: number): Promise<unknown> =>
    run(sql`update taskstream.task_topic set floor = ${base + sequence} where topic = ${fixture.topic}`)
  /** Expires the tasks of dead owners, and tidies the ledger. Whoever waits for a lock here fails. */
  const expire = async (transaction: AnyTransaction, limit = 1_000): Promise<number> => {
    await fixture.subject.execute(transaction, raw("set local lock_timeout = '2s'"))
    const expiry: Expiry = await fixture.tasks.expire(transaction, { olderThanMs: 86_400_000, then: 'ready', limit })
    return expiry.ready
  }
  const tidy = (limit?: number): Promise<number> => fixture.commit((transaction) => expire(transaction, limit))
  const die = (...owners: Tasks[]): Promise<unknown> =>
    fixture.commit(async (transaction) => {
      for (const one of owners) await one.unregister(transaction)
    })
  const listing: TopicOptions = { order: 'lifo' }

  test('gets a record of each chunk that a poll takes tasks from, for each owner, and no second one', async () => {
    await push('a', 0)
    await push('b', size - 1)
    await push('c', size)
    await push('d', 3 * size)
    expect(names(await fixture.poll(4, owner))).toEqual(['a', 'b', 'c', 'd'])
    expect(await chunks()).toEqual([0, 1, 3])
    await push('e', 3 * size + 1)
    await push('f', 4 * size)
    await push('g', 5 * size)
    expect(names(await fixture.poll(3, owner))).toEqual(['e', 'f', 'g'])
    expect(await chunks()).toEqual([0, 1, 3, 4, 5])
    expect(await chunks(other)).toEqual([])
    await push('h', 5 * size + 1)
    expect(names(await fixture.poll(1, other))).toEqual(['h'])
    expect([await chunks(), await chunks(other)]).toEqual([[0, 1, 3, 4, 5], [5]])
  })

  test('gets the same records in a topic with another order', async () => {
    await fixture.nextTopic(listing)
    await push('a', size - 1)
    await push('b', size)
    expect(names(await fixture.poll(2, owner))).toEqual(['b', 'a'])
    await push('c', size + 1)
    await push('d', 2 * size)
    await push('e', 3 * size)
    expect(names(await fixture.poll(3, owner))).toEqual(['e', 'd', 'c'])
    expect(await chunks()).toEqual([0, 1, 2, 3])
    await push('f', size + 2)
    expect(names(await fixture.poll(1, other))).toEqual(['f'])
    expect([await chunks(), await chunks(other)]).toEqual([[0, 1, 2, 3], [1]])
  })

  describe('of a topic in order', () => {
    test('loses the records of chunks that polls have passed, and their held tasks are listed instead', async () => {
      await take({ before: -1, first: 0, last: size - 1, after: size })
      const [done] = await take({ done: size - 2 })
      await fixture.complete([done!], undefined, owner)
      await take({ theirs: 1 }, other)
      // The other owner's record is written later.
      await forget(other)
      await pass(size - 1)
      await tidy()
      expect([await chunks(), await listed()]).toEqual([[0, 1], ['before']])
      await pass(size)
      await tidy()
      expect([await chunks(), await listed()]).toEqual([[1], ['before', 'first', 'last']])
      await record(0, other)
      await tidy()
      expect([await chunks(other), await listed()]).toEqual([[], ['before', 'first', 'theirs', 'last']])
      await die(owner, other)
      expect(await tidy()).toBe(5)
    })

    test('keeps those of other topics, whose polls are not so far', async () => {
      await take({ a: 0 })
      await push('ready', 1)
      const passed = fixture.topic
      await fixture.nextTopic()
      await take({ a: 2, b: size })
      await run(sql`update taskstream.task_topic set floor = ${base + 5 * size} where topic = ${passed}`)
      await tidy()
      expect([await chunks(), await listed()]).toEqual([[0, 1], []])
      const rows = await run(sql`select identifier from taskstream.task where topic = ${passed} and listed`)
      expect(rows).toMatchObject([{ identifier: 'a' }])
      await die(owner)
      expect(await tidy()).toBe(3)
    })

    testOn(['postgres'])(
      'keeps a record while somebody writes to a task that it stands for, and nobody waits for that',
      async () => {
        await take({ a: 0, b: 1 })
        await pass(size)
        await session.begin()
        const row = sql`select identifier from taskstream.task where topic = ${fixture.topic} and identifier = 'a' for update`
        await fixture.subject.execute(session.transaction, row)
        await tidy()
        expect([await chunks(), await listed()]).toEqual([[0], ['b']])
        await session.rollback()
        await tidy()
        expect([await chunks(), await listed()]).toEqual([[], ['a', 'b']])
        await die(owner)
        expect(await tidy()).toBe(2)
      },
    )
  })

  describe('of a topic in another order', () => {
    beforeEach(() => fixture.nextTopic(listing))

    test('loses the records of chunks in which the owner holds nothing any more', async () => {
      const [before, first, last, after] = await take({ before: -1, first: 0, last: size - 1, after: size })
      await take({ theirs: 1 }, other)
      await push('ready', 2)
      const chunksAfter = async (...done: HeldTask[]): Promise<number[]> => {
        await fixture.complete(done, undefined, owner)
        await tidy()
        return chunks()
      }
      expect(await chunksAfter()).toEqual([-1, 0, 1])
      // The first task of a chunk counts, and the last.
      expect(await chunksAfter(last!)).toEqual([-1, 0, 1])
      expect(await chunksAfter(first!)).toEqual([-1, 1])
      expect(await chunksAfter(before!)).toEqual([1])
      expect(await chunksAfter(after!)).toEqual([])
      expect(await chunks(other)).toEqual([0])
    })

    test('keeps a record for the last task of a chunk', async () => {
      const [first] = await take({ first: 0, last: size - 1 })
      await fixture.complete([first!], undefined, owner)
      await tidy()
      expect(await chunks()).toEqual([0])
      await die(owner)
      expect(await tidy()).toBe(1)
    })

    testOn(['postgres'])('keeps a record on which a poll relies that is not committed yet, and nobody waits for it', async () => {
      const [a] = await take({ a: 0 })
      await fixture.complete([a!], undefined, owner)
      await push('b', 1)
      await session.begin()
      expect(names(await owner.poll(session.transaction, fixture.topic))).toEqual(['b'])
      await tidy()
      await session.commit()
      expect(await chunks()).toEqual([0])
      await die(owner)
      expect(await tidy()).toBe(1)
    })

    test('is not tidied by a transaction that may see too little', async () => {
      const [a] = await take({ a: 0 })
      await fixture.complete([a!], undefined, owner)
      await session.begin()
      await fixture.subject.execute(session.transaction, raw('set transaction isolation level repeatable read'))
      await expire(session.transaction)
      await session.commit()
      expect(await chunks()).toEqual([0])
      await tidy()
      expect(await chunks()).toEqual([])
    })
  })

  test('that has a record twice counts its tasks once', async () => {
    for (let count = 0; count < 9; count++) await record(0)
    await take({ a: 0, b: size })
    await die(owner)
    expect(await tidy(2)).toBe(2)
  })

  test('gives the oldest tasks of a dead owner first, no more than asked for, and those of no other owner', async () => {
    const ready = async (): Promise<string[]> =>
      (await fixture.page()).filter(({ state }) => state === 'ready').map(({ identifier }) => identifier)
    const dying = async (): Promise<unknown[]> => {
      await die(owner)
      return [await tidy(2), await ready(), await tidy(2), await ready()]
    }
    await take({ a: 0, b: 1, c: 2 })
    await take({ theirs: 3 }, other)
    expect(await dying()).toEqual([2, ['a', 'b'], 1, ['a', 'b', 'c']])
    // In several chunks, any of them come first, and no more.
    await fixture.nextTopic()
    owner = await fixture.owner()
    await take({ a: 4, b: size, c: 2 * size })
    await die(owner)
    expect([await tidy(2), (await ready()).length, await tidy(2), await ready()]).toEqual([2, 2, 1, ['a', 'b', 'c']])
    // It is as in one chunk with tasks that are listed, as all polls have passed their chunk.
    await fixture.nextTopic()
    owner = await fixture.owner()
    const [done, back] = await take({ done: 2 * size + 1, back: 2 * size + 2 })
    await take({ a: 2 * size + 3, b: 2 * size + 4, c: 2 * size + 5 })
    await take({ theirs: 2 * size + 6 }, other)
    await fixture.complete([done!], undefined, owner)
    await pass(3 * size)
    await tidy()
    await fixture.commit((transaction) => owner.handBack(transaction, fixture.topic, [back!]))
    expect([await chunks(), await listed()]).toEqual([[], ['back', 'a', 'b', 'c', 'theirs']])
    expect(await dying()).toEqual([2, ['back', 'a', 'b'], 1, ['back', 'a', 'b', 'c']])
  })

  testOn(['postgres'])('keeps the slots of a dead owner while it holds a task, though somebody writes to that', async () => {
    const slot = (by: Tasks): Promise<SlotGrant> =>
      fixture.commit<SlotGrant>((transaction) => by.takeSlots(transaction, fixture.topic, { held: 0, wanted: 1 }))
    const freed = async (): Promise<number> => {
      await session.begin()
      const row = sql`select identifier from taskstream.task where topic = ${fixture.topic} for update`
      await fixture.subject.execute(session.transaction, row)
      const count = await fixture.commit<number>((transaction) => fixture.tasks.freeSlots(transaction, 86_400_000))
      await session.rollback()
      return count
    }
    await fixture.commit<TopicLimits>((transaction) => fixture.tasks.limit(transaction, fixture.topic, { total: 1 }))
    expect(await slot(owner)).toMatchObject({ slots: 1 })
    await take({ a: 0 })
    await die(owner)
    expect(await freed()).toBe(0)
    // Listed, it is found too.
    await pass(size)
    await run(sql`update taskstream.task set listed = true where topic = ${fixture.topic}`)
    await forget(owner)
    expect(await freed()).toBe(0)
    expect([await tidy(), await freed()]).toEqual([1, 1])
    expect(await slot(other)).toMatchObject({ slots: 1 })
  })

  testOn(['postgres'])('gives another task in place of one to which somebody writes, and nobody waits for that', async () => {
    const lock = async (): Promise<void> => {
      await session.begin()
      const row = sql`select identifier from taskstream.task where topic = ${fixture.topic} and identifier = 'a' for update`
      await fixture.subject.execute(session.transaction, row)
    }
    await take({ a: 0, b: 1 })
    await die(owner)
    await lock()
    expect(await tidy(1)).toBe(1)
    await session.rollback()
    expect(await tidy(1)).toBe(1)
    await fixture.nextTopic()
    owner = await fixture.owner()
    await take({ a: 2, b: 3 })
    await pass(size)
    await tidy()
    await die(owner)
    await lock()
    expect(await tidy(1)).toBe(1)
    await session.rollback()
    expect(await tidy(1)).toBe(1)
  })
})
