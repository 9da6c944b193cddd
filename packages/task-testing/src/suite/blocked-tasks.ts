/** What a blocked task needs is told, kept and copied, and how often it is looked at. */
import { TaskDecision } from '@taskstream/task-api'
import type { PromotedDue, TaskDependency } from '@taskstream/task-api'
import { describe, expect, test, vi } from 'vitest'
import { useDependencyFixture } from './dependency-fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

export const blockedTasks: Part = part('a blocked task', (engine) => {
  const { clock, fixture, on, blocked, settle, infoOf, needsOf, ended } = useDependencyFixture(engine)
  const { failure } = TaskDecision

  test('tells what it needs in the order in which it was given, for each task that is asked about', async () => {
    const { tasks, commit, topic } = fixture
    const [a, b] = await fixture.push('a', 'b')
    const first = await blocked('c', { need: 'z', on: a! }, { need: 'y', on: b!, tolerant: true }, { need: 'x', on: a! })
    const second = await blocked('d', { need: 'w', on: b! })
    const needs = await commit<readonly (readonly TaskDependency[])[]>((transaction) =>
      tasks.dependencies(transaction, [second, a!, first, { topic: 'nowhere', sequence: first.sequence }, second]),
    )
    const [on, other] = [
      { topic, sequence: a!.sequence },
      { topic, sequence: b!.sequence },
    ]
    expect(needs).toEqual([
      [{ need: 'w', on: other, tolerant: false }],
      [],
      [
        { need: 'z', on, tolerant: false },
        { need: 'y', on: other, tolerant: true },
        { need: 'x', on, tolerant: false },
      ],
      [],
      [{ need: 'w', on: other, tolerant: false }],
    ])
    expect(await commit<unknown>((transaction) => tasks.dependencies(transaction, []) as unknown)).toEqual([])
  })

  test('begins anew with each of several that it needs, and leaves alone those that other tasks need', async () => {
    const { tasks, topic, commit } = fixture
    const [a, b, c] = await fixture.push('a', 'b', 'c')
    const other = await blocked('other', ...on(a!, c!))
    const task = await blocked('task', ...on(a!, b!))
    const [, ...held] = await fixture.poll(2)
    await fixture.complete(held, failure())
    await settle()
    const found = (await infoOf(task))!
    expect(found.state).toBe('failed')
    await commit((transaction) => tasks.recreate(transaction, topic, 'append', [found]))
    const copy = (await fixture.page()).find(({ identifier, state }) => identifier === 'task' && state === 'suspended')!
    expect((await needsOf(copy)).map(({ need, on }) => [need, on.sequence])).toEqual([
      ['n0', a!.sequence],
      ['n1', b!.sequence],
    ])
    expect((await needsOf(other)).map(({ on }) => on.sequence)).toEqual([a!.sequence, c!.sequence])
    await commit((transaction) => tasks.recreate(transaction, topic, 'append', [held[0]!]))
    const again = (await needsOf(copy)).map(({ on }) => on.sequence)
    expect(again[0]).toBe(a!.sequence)
    expect(again[1]).toBeGreaterThan(copy.sequence)
    expect((await needsOf(other)).map(({ on }) => on.sequence)).toEqual([a!.sequence, c!.sequence])
  })

  test('keeps those that it needs while it is expired', async () => {
    const { tasks, commit, topic } = fixture
    const a = await ended('a')
    await blocked('c', ...on(a))
    await settle()
    const dying = await fixture.owner()
    await fixture.poll(1, dying)
    await commit((transaction) => dying.unregister(transaction))
    await commit((transaction) => tasks.expire(transaction, { olderThanMs: 60_000 }))
    expect(await fixture.states()).toEqual({ succeeded: 1, expired: 1 })
    expect(await commit<number>((transaction) => tasks.purge(transaction, topic))).toBe(0)
    expect(await infoOf(a)).toBeDefined()
  })

  describe('is looked at by promoteDue', () => {
    const promote = (limit?: number, by = fixture.tasks): Promise<PromotedDue> =>
      fixture.commit<PromotedDue>((transaction) =>
        by.promoteDue(transaction, fixture.topic, limit === undefined ? {} : { limit }),
      )

    test('by portions, and at once again as long as there is more to do', async () => {
      const [good, bad] = [await ended('a'), await ended('b', failure())]
      for (const name of ['c', 'd', 'e']) await blocked(name, ...on(good))
      for (const name of ['f', 'g']) await blocked(name, ...on(bad))
      expect(await promote(3)).toEqual({ promoted: 3, lookAgainMs: 0 })
      // Looks are seldom, and another repository has not looked yet.
      const other = await fixture.owner()
      await blocked('h', ...on(good))
      expect(await promote(4, other)).toEqual({ promoted: 1, unreachable: 2, lookAgainMs: 1_000 })
      const third = await fixture.owner()
      await blocked('i', ...on(good))
      await blocked('j', ...on(bad))
      expect(await promote(2, third)).toEqual({ promoted: 1, unreachable: 1, lookAgainMs: 0 })
    })

    test('only once a second, together with those that are due, of which the longest due come first', async () => {
      await fixture.push({ identifier: 'a', delayMs: 200 }, { identifier: 'b', delayMs: 100 })
      clock.advance(300)
      expect(await promote(1)).toEqual({ promoted: 1, nextDueMs: 0 })
      const [held] = await fixture.poll(9)
      expect(held).toMatchObject({ identifier: 'b' })
    })

    // What a look costs is set by an adapter of the test's own.
    test.skipIf(engine.adapts === false).each([
      { tookMs: 0, pauseMs: 0 },
      { tookMs: 10, pauseMs: 200 },
      { tookMs: 100, pauseMs: 1_000 },
      { tookMs: 900, pauseMs: 1_800 },
    ])('no more often than it costs: after $tookMs ms not for $pauseMs ms', async ({ tookMs, pauseMs }) => {
      let nowMs = 1_000_000
      const now = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
      try {
        let costMs = 0
        const tasks = fixture.subject.tasks({
          clock: clock.now,
          adapt: (adapter) =>
            ({
              ...adapter,
              execute: (...given: Parameters<typeof adapter.execute>) => {
                if (costMs > 0 && given[1].texts.join('').includes('missed')) nowMs += costMs
                return adapter.execute(...given)
              },
            }) as typeof adapter,
        })
        const [a] = await fixture.push({ identifier: 'a', suspended: true })
        await blocked('b', ...on(a!))
        costMs = tookMs
        expect(await promote(9, tasks)).toEqual({ promoted: 0, lookAgainMs: 1_000 })
        if (pauseMs > 0) {
          expect(await promote(9, tasks)).toEqual({ promoted: 0, lookAgainMs: pauseMs })
          nowMs += pauseMs - 1
          expect(await promote(9, tasks)).toEqual({ promoted: 0, lookAgainMs: 1 })
          nowMs += 1
        }
        expect(await promote(9, tasks)).toEqual({ promoted: 0, lookAgainMs: 1_000 })
      } finally {
        now.mockRestore()
      }
    })
  })
})
