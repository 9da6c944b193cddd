/** The history of attempts does not grow without end: it goes with its task, by its number and by its age. */
import { TaskDecision, taskLimits } from '@taskstream/task-api'
import type { TaskAttempt } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { testClock } from '../test-clock.ts'
import { beforeEach, expect, test } from 'vitest'
import { codeOf, useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

const { failure, retry, snooze, success, suspension } = TaskDecision
const aDay = 86_400_000

export const attemptsKept: Part = part('attempts that are kept', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })
  const attemptsOf = (sequence: number): Promise<readonly TaskAttempt[]> =>
    fixture.commit<readonly TaskAttempt[]>((transaction) => fixture.tasks.attempts(transaction, fixture.topic, sequence))
  const numbersOf = async (sequence: number): Promise<number[]> => (await attemptsOf(sequence)).map(({ attempt }) => attempt)
  const purge = (olderThanMs: number, limit?: number): Promise<number> =>
    fixture.commit<number>((transaction) =>
      fixture.tasks.purgeAttempts(transaction, { olderThanMs, ...(limit !== undefined && { limit }) }),
    )
  /** Completes every ready task as the decision says, and lets a millisecond pass. */
  const tried = async (decision: TaskDecision): Promise<void> => {
    await fixture.complete(await fixture.poll(), decision)
    clock.advance(1)
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
  }
  const again = retry({ afterMs: 0 }, 'again')
  const range = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, index) => first + index)
  beforeEach(async () => {
    // The attempts of the tests before are gone.
    clock.advance(aDay)
    await fixture.commit(async (transaction) => {
      for (const topic of await fixture.tasks.topics(transaction))
        if (topic !== fixture.topic) await fixture.tasks.purgeAll(transaction, topic)
    })
  })

  test('are the first five and the last fifteen of each task, however often it is tried', async () => {
    const [a] = await fixture.push('a')
    for (let count = 1; count <= 20; count++) await tried(again)
    expect(await numbersOf(a!.sequence)).toEqual(range(1, 20))
    const [b] = await fixture.push('b')
    await tried(again)
    expect(await numbersOf(a!.sequence)).toEqual([...range(1, 5), ...range(7, 21)])
    // A snooze in between leaves a number out, and what is kept goes by the numbers.
    await tried(snooze({ afterMs: 0 }))
    await tried(again)
    expect(await numbersOf(a!.sequence)).toEqual([...range(1, 5), ...range(9, 21), 23])
    await tried(failure())
    expect(await numbersOf(a!.sequence)).toEqual([...range(1, 5), ...range(10, 21), 23, 24])
    expect(await numbersOf(b!.sequence)).toEqual([1, 3, 4])
  })

  test('are as many where each is lost', async () => {
    const [a] = await fixture.push('a')
    for (let count = 1; count <= 22; count++) {
      await fixture.poll(1, await fixture.owner('dying'))
      clock.advance(1_000)
      await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 500, then: 'ready' }))
    }
    expect(await numbersOf(a!.sequence)).toEqual([...range(1, 5), ...range(8, 22)])
  })

  test('go with their task: purged, deleted by a push, emptied or destroyed with the topic', async () => {
    const { tasks, commit } = fixture
    for (const gone of ['purge', 'delete', 'purgeAll', 'destroy'] as const) {
      await fixture.nextTopic({ keyed: true })
      const { topic } = fixture
      const [a] = await fixture.push('a')
      await tried(again)
      await tried(failure())
      expect(await numbersOf(a!.sequence)).toEqual([1, 2])
      await commit<unknown>((transaction) => {
        if (gone === 'delete') return tasks.push(transaction, topic, 'a', { insertion: 'delete' })
        return gone === 'purge' ? tasks.purge(transaction, topic) : tasks[gone](transaction, topic)
      })
      if (gone === 'destroy') await commit((transaction) => tasks.initialize(transaction, topic))
      expect(await numbersOf(a!.sequence)).toEqual([])
    }
  })

  test('go when they are old, unless their task is still failed, expired, suspended or delayed', async () => {
    const decisions = { succeeded: success(), failed: failure(), suspended: suspension(), delayed: retry({ afterMs: 10 * aDay }) }
    const pushed = await fixture.push(...Object.keys(decisions), 'ready')
    await tried(again)
    const held = await fixture.poll()
    await fixture.commit((transaction) =>
      fixture.tasks.complete(
        transaction,
        fixture.topic,
        new Map(held.slice(0, 4).map((task, index) => [task, Object.values(decisions)[index]!])),
      ),
    )
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, held.slice(4)))
    const [expired] = await fixture.push('expired')
    await fixture.poll(2, await fixture.owner('dying'))
    clock.advance(aDay)
    await fixture.commit((transaction) => fixture.tasks.heartbeat(transaction))
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 1_000 }))
    const lost = pushed.at(-1)!
    await fixture.commit((transaction) =>
      fixture.tasks.recreate(transaction, fixture.topic, 'reset', [{ ...lost, topic: fixture.topic, identifier: 'ready' }]),
    )
    clock.advance(1)
    expect(await purge(aDay + 3)).toBe(0)
    expect(await purge(aDay + 2)).toBe(2)
    expect(await purge(0)).toBe(1)
    expect(await purge(0)).toBe(0)
    const left = await Promise.all([...pushed, expired!].map(({ sequence }) => numbersOf(sequence)))
    expect(left).toEqual([[], [1, 2], [1, 2], [1, 2], [], [1]])
  })

  test('go in portions, in every topic, the oldest of each first', async () => {
    const pushed = new Map<string, readonly number[]>()
    for (const _ of [1, 2]) {
      await fixture.nextTopic()
      const both = await fixture.push('a', 'b')
      pushed.set(
        fixture.topic,
        both.map(({ sequence }) => sequence),
      )
      for (let count = 1; count <= 3; count++) await tried(again)
      await tried(success())
    }
    const left = (): Promise<number[][]> =>
      fixture.commit(async (transaction) => {
        const found: number[][] = []
        for (const [topic, sequences] of [...pushed].toSorted()) {
          for (const sequence of sequences) {
            const kept = await fixture.tasks.attempts(transaction, topic, sequence)
            found.push(kept.map(({ attempt }) => attempt))
          }
        }
        return found
      })
    expect(await purge(0, 4)).toBe(4)
    expect(await left()).toEqual([[3], [3], [1, 2, 3], [1, 2, 3]])
    expect(await purge(0, 3)).toBe(3)
    expect((await left()).map(({ length }) => length).toSorted()).toEqual([0, 0, 2, 3])
    expect(await purge(0)).toBe(5)
    expect((await left()).flat()).toEqual([])
    expect(await purge(0)).toBe(0)
  })

  test('go when they are old though their task is gone, as when somebody has deleted its row by hand', async () => {
    await fixture.push('a')
    await tried(failure())
    expect(await purge(0)).toBe(0)
    const table = raw(engine.family === 'postgres' ? 'taskstream.task' : 'task')
    await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, sql`delete from ${table} where topic = ${fixture.topic}`),
    )
    expect(await purge(0)).toBe(1)
  })

  test('are purged by an age and a limit that make sense', async () => {
    for (const olderThanMs of [-1, 0.5, taskLimits.durationMs + 1, undefined])
      expect(await codeOf(() => purge(olderThanMs as number))).toBe('ARGUMENT_INVALID')
    for (const limit of [0, -1, 0.5, taskLimits.batchSize + 1])
      expect(await codeOf(() => purge(0, limit))).toBe('ARGUMENT_INVALID')
    const misspelt = { olderThanMs: 0, olderThan: 0 }
    expect(await codeOf(() => fixture.commit((transaction) => fixture.tasks.purgeAttempts(transaction, misspelt)))).toBe(
      'ARGUMENT_INVALID',
    )
  })
})
