/** What a fast-path claim assumes, it checks by itself: whatever has changed since it was sent, it takes nothing, and another claim learns. */
import type { Expiry } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { codeOf, names, useFixture } from '@taskstream/task-testing/suite'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Session } from '../subject.ts'
import { draws, watchClaims } from './watched-claims.ts'
import type { WatchedClaims } from './watched-claims.ts'

/** How many sequences a record of the claim ledger stands for. */
const size = 8_192

describe.skipIf(!canRun)('a fast-path claim', () => {
  const fixture = useFixture(engine)
  let watched: WatchedClaims
  let session: Session
  /** The first sequence of a chunk that no test has used. */
  let base = 0
  beforeAll(async () => {
    session = await fixture.subject.session()
  })
  beforeEach(async () => {
    base += 10 * size
    watched = await watchClaims(fixture)
    await draws(fixture, base + 10)
    await watched.passes(await watched.doOne())
  })
  afterEach(() => session.rollback().catch(() => {}))

  const run = (statement: Statement): ReturnType<typeof fixture.subject.execute> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  /** Pushes a task that gets this sequence, counted from `base`. */
  const push = async (identifier: string, sequence: number): Promise<void> => {
    await draws(fixture, base + sequence)
    await fixture.push(identifier)
  }
  /** Locks a ready task. A lock from before a claim would be taken for that of a push, for which the low watermark waits. */
  const lock = async (identifier: string): Promise<void> => {
    await session.rollback().catch(() => {})
    await session.begin()
    const row = sql`select identifier from taskstream.task where topic = ${fixture.topic} and identifier = ${identifier} for update`
    await fixture.subject.execute(session.transaction, row)
  }
  /** Expires the owner. @returns how many tasks it had */
  const expired = async (): Promise<number> => {
    await fixture.commit((transaction) => watched.tasks.unregister(transaction))
    const options = { olderThanMs: 86_400_000, then: 'ready' } as const
    return (await fixture.commit<Expiry>((transaction) => fixture.tasks.expire(transaction, options))).ready
  }

  test('is tried so many times, and each task counts as one more', async () => {
    const fast = async (...identifiers: string[]): Promise<number> => {
      for (let count = 0; count < 100; count++) {
        await fixture.push(...identifiers)
        if ((await watched.kinds()).includes('learning')) return count
      }
      return Infinity
    }
    expect(await fast()).toBe(32)
    watched = await watchClaims(fixture)
    await watched.passes(await watched.doOne())
    expect(await fast('a', 'b', 'c')).toBe(8)
  })

  test('is tried in no other topic than the one of which the process has learned', async () => {
    const low = watched.low()!
    await fixture.nextTopic()
    await run(sql`update taskstream.task_topic set floor = ${low}::int8 where topic = ${fixture.topic}`)
    expect(await watched.kinds()).toEqual(['learning', 'cache', 'learning'])
    expect(watched.low()).toBe(low)
    expect(await watched.kinds()).toEqual(['learning'])
  })

  test('is not tried for a transaction that only locks', async () => {
    await fixture.push('a')
    await session.begin()
    const held = await watched.tasks.poll(session.transaction, fixture.topic, { hold: 'transaction' })
    expect(names(held)).toEqual(['a'])
    expect(watched.seen.at(-1)).toMatchObject({ kind: 'learning' })
    expect((await fixture.page()).map(({ identifier, state }) => [identifier, state])).toContainEqual(['a', 'ready'])
  })

  test('is not tried after one that only locked, as that leaves no record in the ledger', async () => {
    const other = await watchClaims(fixture)
    const [pushed] = await fixture.push('a')
    await session.begin()
    const held = await other.tasks.poll(session.transaction, fixture.topic, { hold: 'transaction' })
    expect(names(held)).toEqual(['a'])
    await session.rollback()
    await fixture.complete(await watched.poll(), undefined, watched.tasks)
    await other.passes(pushed!.sequence!)
    expect(await other.kinds()).toEqual(['learning'])
  })

  test('is tried once after its assumptions were wrong', async () => {
    await run(sql`delete from taskstream.task_holding where owner = ${watched.tasks.owner}`)
    expect(await watched.kinds()).toEqual(['fast', 'learning'])
    expect(await watched.kinds()).toEqual(['learning'])
  })

  test('does no harm if a poll of the same process has been wrong meanwhile', async () => {
    await run(sql`delete from taskstream.task_holding where owner = ${watched.tasks.owner}`)
    watched.before('fast', async () => expect(await watched.poll()).toEqual([]))
    expect(await watched.kinds()).toEqual(['fast', 'learning', 'fast', 'learning'])
  })

  test('takes nothing if the topic was made anew', async () => {
    watched.before('fast', async () => {
      await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
      await fixture.commit((transaction) => fixture.tasks.initialize(transaction, fixture.topic, { order: 'lifo' }))
      await fixture.push('a', 'b')
    })
    expect(names(await watched.poll(1))).toEqual(['b'])
  })

  test('takes nothing if the topic is gone', async () => {
    watched.before('fast', () => fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic)))
    expect(await codeOf(() => watched.poll())).toBe('TOPIC_UNKNOWN')
  })

  test('takes nothing if its owner was removed', async () => {
    await fixture.push('a')
    watched.before('fast', () => fixture.commit((transaction) => watched.tasks.unregister(transaction)))
    expect(await codeOf(() => watched.poll())).toBe('OWNER_UNKNOWN')
    expect(names(await fixture.poll())).toEqual(['a'])
  })

  test('takes nothing if the ledger has no record of its topic, owner and chunk', async () => {
    const [topic, other] = [fixture.topic, await fixture.owner()]
    await fixture.nextTopic()
    const another = fixture.topic
    await fixture.push('a')
    expect(names(await fixture.poll(1, watched.tasks))).toEqual(['a'])
    const poll = (): Promise<unknown> => fixture.commit((transaction) => watched.tasks.poll(transaction, topic))
    watched.before('fast', async () => {
      const chunk = base / size
      await run(sql`delete from taskstream.task_holding where topic = ${topic} and owner = ${watched.tasks.owner}`)
      await run(sql`
        insert into taskstream.task_holding (topic, owner, chunk)
        values (${topic}, ${other.owner}, ${chunk}), (${topic}, ${watched.tasks.owner}, ${chunk + 1}), (${another}, ${other.owner}, ${chunk})`)
    })
    await fixture.commit((transaction) => fixture.tasks.push(transaction, topic, 'b'))
    expect(await poll()).toMatchObject([{ identifier: 'b' }])
    expect(watched.seen.slice(-2).map(({ kind }) => kind)).toEqual(['fast', 'learning'])
    expect(await expired()).toBe(2)
  })

  test('takes nothing if a task is listed', async () => {
    await fixture.push('a', 'b')
    const held = await fixture.poll(1)
    watched.before('fast', () => fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, held)))
    expect(names(await watched.poll(1))).toEqual(['a'])
    expect(watched.seen.slice(-3).map(({ kind }) => kind)).toEqual(['fast', 'learning', 'merging'])
  })

  test('takes tasks while others hold tasks that are listed', async () => {
    await fixture.push('a')
    await fixture.commit(async (transaction) =>
      fixture.tasks.handBack(transaction, fixture.topic, await fixture.tasks.poll(transaction, fixture.topic)),
    )
    expect(names(await fixture.poll())).toEqual(['a'])
    await fixture.push('b')
    expect(names(await watched.poll())).toEqual(['b'])
    expect(watched.seen.at(-1)).toEqual({ kind: 'fast' })
  })

  test('takes nothing in a transaction that has written before', async () => {
    await session.begin()
    await fixture.tasks.push(session.transaction, fixture.topic, 'a')
    expect(names(await watched.tasks.poll(session.transaction, fixture.topic))).toEqual(['a'])
    expect(watched.seen.slice(-2).map(({ kind }) => kind)).toEqual(['fast', 'learning'])
  })

  test('takes nothing if the sequence was set back', async () => {
    // A push at or below the persisted low watermark would list its task.
    await run(sql`update taskstream.task_topic set floor = 0 where topic = ${fixture.topic}`)
    watched.before('fast', () => push('a', 5))
    expect(names(await watched.poll(1))).toEqual(['a'])
    expect(watched.seen.slice(-2).map(({ kind }) => kind)).toEqual(['fast', 'learning'])
  })

  test('takes the last task of its chunk, and not the first of the next one', async () => {
    await push('last', size - 1)
    expect(await watched.kinds()).toEqual(['fast'])
    await push('next', size)
    expect(await watched.kinds()).toEqual(['fast', 'learning'])
    expect(await expired()).toBe(2)
  })

  test('is not tried while it would read the last task of an earlier chunk', async () => {
    await push('a', size - 1)
    await lock('a')
    await push('b', size)
    expect(names(await watched.poll())).toEqual(['b'])
    await lock('a')
    await watched.passes(base + size - 2)
    expect(await watched.kinds()).toEqual(['learning'])
    await session.rollback()
    expect(names(await watched.poll())).toEqual(['a'])
  })

  test('is tried if it would read from the first task of its chunk on', async () => {
    await push('a', size)
    await lock('a')
    await push('b', size + 1)
    expect(names(await watched.poll())).toEqual(['b'])
    await lock('a')
    await watched.passes(base + size - 1)
    expect(await watched.kinds()).toEqual(['fast'])
  })

  test('is tried in the chunk of the last task that was taken', async () => {
    await push('a', size - 1)
    await push('b', size)
    const held = await watched.poll()
    expect(names(held)).toEqual(['a', 'b'])
    await watched.passes(base + size)
    expect(await watched.kinds()).toEqual(['fast'])
  })

  test('is not tried if later sequences than those of its chunk were drawn when it was learned', async () => {
    watched = await watchClaims(fixture)
    await push('a', size - 5)
    await push('b', size - 4)
    expect(names(await watched.poll(1))).toEqual(['a'])
    await push('c', size - 2)
    await draws(fixture, base + size + 5)
    expect(names(await watched.poll(1))).toEqual(['b'])
    await lock('c')
    await watched.passes(base + size - 3)
    expect(await watched.kinds()).toEqual(['learning'])
  })

  test('notes when it took a task, by the clock of a test', async () => {
    let now = Date.UTC(2030, 0, 1)
    watched = await watchClaims(fixture, () => new Date(now))
    await watched.passes(await watched.doOne())
    for (const [identifier, time] of Object.entries({ a: Date.UTC(2031, 0, 2), b: Date.UTC(2032, 1, 3) })) {
      now = time
      await fixture.push(identifier)
      expect(names(await watched.poll())).toEqual([identifier])
      expect(watched.seen.at(-1)).toEqual({ kind: 'fast' })
      const started = sql`select started from taskstream.task where topic = ${fixture.topic} and identifier = ${identifier}`
      expect(await run(started)).toEqual([{ started: new Date(time) }])
    }
  })

  test('takes the first tasks in order, no more than asked for, and waits for none that others have locked', async () => {
    await fixture.push('a', 'b', 'c', 'd')
    await lock('a')
    const poll = (): Promise<unknown> =>
      fixture.commit(async (transaction) => {
        await fixture.subject.execute(transaction, raw("set local lock_timeout = '2s'"))
        return watched.tasks.poll(transaction, fixture.topic, { size: 2 })
      })
    expect(await poll()).toMatchObject([
      { identifier: 'b', attempt: 1 },
      { identifier: 'c', attempt: 1 },
    ])
    expect(watched.seen.at(-1)).toEqual({ kind: 'fast' })
    await session.rollback()
    expect(await poll()).toMatchObject([{ identifier: 'a' }, { identifier: 'd' }])
    expect(watched.seen.at(-1)).toEqual({ kind: 'fast' })
  })
})
