/** What operators look at: errors by kind, who holds what, and what comes next. */
import { TaskDecision } from '@taskstream/task-api'
import type { ErrorGroup, ErrorsOptions, HeldInfo, HeldOptions, Redrive, RedriveOptions, Upcoming } from '@taskstream/task-api'
import { beforeEach, expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part } from './engine.ts'
import type { Part, Tasks } from './engine.ts'
import { codeOf, names, useFixture } from './fixture.ts'

export const inspection: Part = part('an operator', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })
  const { failure, retry, success, suspension } = TaskDecision

  const errors = (options: ErrorsOptions = { topic: fixture.topic }): Promise<readonly ErrorGroup[]> =>
    fixture.commit<readonly ErrorGroup[]>((transaction) => fixture.tasks.errors(transaction, options))
  const held = (options?: HeldOptions): Promise<readonly HeldInfo[]> =>
    fixture.commit<readonly HeldInfo[]>((transaction) => fixture.tasks.held(transaction, options))
  const upcoming = (limit?: number): Promise<Upcoming> =>
    fixture.commit<Upcoming>((transaction) =>
      fixture.tasks.upcoming(transaction, fixture.topic, limit === undefined ? {} : { limit }),
    )
  /** A new owner of a program of this release. */
  const ownerOf = async (release: string): Promise<Tasks> => {
    const tasks = fixture.subject.tasks({ clock: clock.now, release })
    await fixture.commit((transaction) => tasks.register(transaction))
    return tasks
  }
  const attempt = async (by: Tasks, identifier: string, decision: TaskDecision): Promise<number> => {
    const [task] = await fixture.push(identifier)
    await fixture.complete(await fixture.poll(1, by), decision, by)
    return task!.sequence
  }

  beforeEach(() => clock.advance(60_000))

  test('sees what fails by kind, how often, since when and in which release', async () => {
    const [older, newer] = [await ownerOf('4.1.0'), await ownerOf('4.2.1')]
    const first = clock.now()
    await attempt(older, 'a', failure('no order 1'))
    clock.advance(1_000)
    const declined = await attempt(newer, 'b', failure(new RangeError('card 4711 declined')))
    clock.advance(1_000)
    const last = await attempt(newer, 'c', failure('no order 12'))
    await attempt(newer, 'd', success('no order 13'))
    clock.advance(1)
    await attempt(newer, 'e', suspension('no order 14'))
    const found = await errors()
    expect(found).toMatchObject([
      {
        topic: fixture.topic,
        error: 'no order 12',
        count: 2,
        open: 2,
        first,
        firstRelease: '4.1.0',
        last: new Date(clock.now().getTime() - 1),
        lastSequence: last,
        releases: ['4.2.1', '4.1.0'],
      },
      { error: 'RangeError: card 4711 declined', count: 1, firstRelease: '4.2.1', lastSequence: declined, releases: ['4.2.1'] },
    ])
    expect(new Set(found.map(({ fingerprint }) => fingerprint)).size).toBe(2)
    expect(await errors({ topic: fixture.topic, withinMs: 500 })).toMatchObject([{ count: 1, releases: ['4.2.1'], first }])
    // The latest attempt was suspended, and is no error.
    expect(await errors({ topic: fixture.topic, limit: 1 })).toEqual([])
    expect(await errors({ topic: fixture.topic, limit: 2 })).toMatchObject([{ error: 'no order 12', count: 1 }])
  })

  test('sees errors of one kind together as the program names it, and by themselves where it does not', async () => {
    const fingerprint = ({ message }: Error): string | undefined => {
      if (message.startsWith('unnamed')) return undefined
      if (message.startsWith('broken')) throw new Error('no name')
      return message.split(' ')[0]
    }
    const by = fixture.subject.tasks({ clock: clock.now, fingerprint })
    await fixture.commit((transaction) => by.register(transaction))
    for (const message of ['partner is away', 'partner is slow', 'unnamed red', 'unnamed blue', 'broken one', 'broken two'])
      await attempt(by, message, failure(new Error(message)))
    const found = await errors()
    expect(found.map(({ count }) => count).toSorted()).toEqual([1, 1, 1, 1, 2])
    expect(found.find(({ count }) => count === 2)).toMatchObject({ error: 'Error: partner is slow' })
  })

  test('sees of an error how many tasks are failed by it still', async () => {
    const by = await ownerOf('1')
    const sequence = await attempt(by, 'a', failure('no'))
    await attempt(by, 'b', failure('no'))
    await attempt(by, 'c', retry({ afterMs: 60_000 }, 'no'))
    expect(await errors()).toMatchObject([{ count: 3, open: 2, pending: 1 }])
    await fixture.commit((transaction) => fixture.tasks.redrive(transaction, fixture.topic, { from: sequence, to: sequence }))
    expect(await errors()).toMatchObject([{ count: 3, open: 1, pending: 2 }])
    // The latest attempt waits for its next try: the older one counts.
    expect(await errors({ topic: fixture.topic, limit: 1 })).toMatchObject([{ count: 1, open: 1, pending: 1 }])
  })

  test('sees that an error has healed once the next tries of its tasks have succeeded', async () => {
    const by = await ownerOf('1')
    await attempt(by, 'a', retry({ afterMs: 0 }, 'no'))
    await attempt(by, 'b', failure('no'))
    await fixture.commit((transaction) => fixture.tasks.redrive(transaction, fixture.topic, {}))
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    const again = await fixture.poll(2, by)
    expect(await errors()).toMatchObject([{ count: 2, open: 0, pending: 2 }])
    await fixture.complete(again, failure('no'), by)
    await fixture.commit((transaction) => fixture.tasks.redrive(transaction, fixture.topic, {}))
    // Each has failed twice, and is one task.
    expect(await errors()).toMatchObject([{ count: 4, open: 0, pending: 2 }])
    await fixture.complete(await fixture.poll(2, by), success(), by)
    expect(await errors()).toMatchObject([{ count: 4, open: 0, pending: 0 }])
  })

  test('sees of each of many errors its own first and last attempt', async () => {
    const by = await ownerOf('1')
    const words = Array.from({ length: 23 }, (_, index) => String.fromCodePoint(97 + index).repeat(3))
    const attempts = async (): Promise<Map<string, { sequence: number; at: Date }>> => {
      const made = new Map<string, { sequence: number; at: Date }>()
      for (const word of words) {
        clock.advance(1_000)
        made.set(word, { sequence: await attempt(by, word, failure(word)), at: clock.now() })
      }
      return made
    }
    const [first, last] = [await attempts(), await attempts()]
    const found = await errors()
    expect(found.map(({ error }) => error).toSorted()).toEqual(words)
    for (const group of found)
      expect(group).toMatchObject({
        count: 2,
        open: 2,
        first: first.get(group.error)!.at,
        last: last.get(group.error)!.at,
        lastSequence: last.get(group.error)!.sequence,
      })
  })

  test('redrives what has failed by one error, one at first, and leaves the rest', async () => {
    const by = await ownerOf('1')
    const [first, , third] = [
      await attempt(by, 'a', failure('no order 1')),
      await attempt(by, 'b', failure(new RangeError('out of range'))),
      await attempt(by, 'c', failure('no order 2')),
    ]
    const { fingerprint } = (await errors()).find(({ count }) => count === 2)!
    const redrive = (options: RedriveOptions): Promise<Redrive> =>
      fixture.commit<Redrive>((transaction) => fixture.tasks.redrive(transaction, fixture.topic, { fingerprint, ...options }))
    expect(await redrive({ dryRun: true })).toEqual({ count: 2, first, last: third })
    expect(await redrive({ limit: 1 })).toEqual({ count: 1, first, last: first })
    expect(await fixture.states()).toEqual({ ready: 1, failed: 2 })
    // It fails by another error now, and belongs to that one.
    await fixture.complete(await fixture.poll(1, by), failure('no customer'), by)
    expect(await redrive({ from: first, to: first })).toEqual({ count: 0 })
    expect(await redrive({})).toEqual({ count: 1, first: third, last: third })
    expect(await redrive({ fingerprint: 'nobody' })).toEqual({ count: 0 })
    expect(await codeOf(() => redrive({ fingerprint: '' }))).toBe('ARGUMENT_INVALID')
  })

  test('sees tasks that were lost with their owner as an error of the owner’s release', async () => {
    const by = await ownerOf('4.2.1')
    await fixture.commit((transaction) =>
      by.report(transaction, { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, topics: [] }),
    )
    await fixture.push('a')
    await fixture.poll(1, by)
    await fixture.commit((transaction) => by.unregister(transaction))
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 30_000 }))
    expect(await errors()).toMatchObject([{ fingerprint: 'lost', count: 1, open: 1, pending: 0, firstRelease: '4.2.1' }])
  })

  test('sees the errors of every topic where none is named, and is told if there is no such topic', async () => {
    const by = await ownerOf('1')
    await attempt(by, 'a', failure('here'))
    const { topic } = fixture
    await fixture.nextTopic()
    await attempt(by, 'a', failure('there'))
    const found = await errors({ withinMs: 30_000 })
    const all = [
      [topic, 'here'],
      [fixture.topic, 'there'],
    ]
    expect(found.map((group) => [group.topic, group.error])).toEqual(all.toSorted())
    expect(await codeOf(() => errors({ topic: 'nobody' }))).toBe('TOPIC_UNKNOWN')
    expect(await codeOf(() => errors({ limit: 0 }))).toBe('ARGUMENT_INVALID')
  })

  test('sees who holds what, the longest held first', async () => {
    const [one, other] = [await ownerOf('1'), await ownerOf('1')]
    const { topic } = fixture
    await fixture.push('a', 'b', 'c')
    await fixture.poll(1, one)
    const started = clock.now()
    clock.advance(1_000)
    await fixture.poll(1, other)
    expect(await held({ topic })).toMatchObject([
      { topic, identifier: 'a', owner: one.owner, started, attempt: 1, tries: 1 },
      { identifier: 'b', owner: other.owner, started: clock.now() },
    ])
    await fixture.nextTopic()
    await fixture.push('d')
    await fixture.poll(1, one)
    expect(names(await held({ owner: one.owner }))).toEqual(['a', 'd'])
    expect(names(await held({ owner: one.owner, limit: 1 }))).toEqual(['a'])
    expect(await held({ owner: 'nobody' })).toEqual([])
    expect(await codeOf(() => held({ limit: 10_001 }))).toBe('ARGUMENT_INVALID')
  })

  test('sees what comes next, in the order of the topic', async () => {
    for (const [options, expected] of [
      [{}, ['a', 'b', 'a', 'c']],
      [{ order: 'lifo' }, ['c', 'a', 'b', 'a']],
      [{ order: 'priority' }, ['b', 'a', 'a', 'c']],
      [{ condition: 'singular-by-identifier' }, ['a', 'b', 'c']],
    ] as const) {
      await fixture.nextTopic(options)
      await fixture.push('a', { identifier: 'b', priority: 5 }, 'a', 'c')
      const { ready } = await upcoming()
      expect([options, names(ready)]).toEqual([options, expected])
      expect(names((await upcoming(2)).ready)).toEqual(expected.slice(0, 2))
      expect(names(await fixture.poll(1))).toEqual(expected.slice(0, 1))
    }
  })

  test('sees what becomes ready by itself, and nothing of what waits for others', async () => {
    const [first] = await fixture.push(
      { identifier: 'late', delayMs: 90_000 },
      { identifier: 'soon', delayMs: 60_000 },
      { identifier: 'aside', suspended: true },
    )
    const { tasks, topic } = fixture
    const [child] = await fixture.push({ identifier: 'child', suspended: true })
    await fixture.commit((transaction) => tasks.depend(transaction, child!, [{ need: 'x', on: first! }]))
    const due = new Date(clock.now().getTime() + 60_000)
    expect(await upcoming()).toMatchObject({
      topic,
      ready: [],
      due: [{ identifier: 'soon', due, tries: 0 }, { identifier: 'late' }],
    })
    expect(names((await upcoming(1)).due)).toEqual(['soon'])
    expect(await codeOf(() => fixture.commit<unknown>((transaction) => tasks.upcoming(transaction, 'nobody')))).toBe(
      'TOPIC_UNKNOWN',
    )
  })
})
