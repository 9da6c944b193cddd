/** Which tasks `poll` takes, in which order, and which it leaves. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { beforeAll, expect, test } from 'vitest'
import { names, thrownBy, useFixture } from './fixture.ts'
import { part, testWhere } from './engine.ts'
import type { Part, Tasks } from './engine.ts'

export const poll: Part = part('poll', (engine) => {
  const fixture = useFixture(engine)
  let rival: Tasks
  beforeAll(async () => {
    rival = await fixture.owner()
  })
  const push = (...identifiers: string[]): Promise<unknown> =>
    fixture.commit((transaction) => fixture.tasks.push(transaction, fixture.topic, identifiers))
  const poll = (by: Tasks, size: number): Promise<HeldTask[]> =>
    fixture.commit<HeldTask[]>((transaction) => by.poll(transaction, fixture.topic, { size }))

  test('takes the first ready tasks in the order they were pushed, each once', async () => {
    await push('a', 'b', 'c')
    expect(names(await poll(fixture.tasks, 2))).toEqual(['a', 'b'])
    expect(names(await poll(rival, 2))).toEqual(['c'])
    expect(await poll(fixture.tasks, 2)).toEqual([])
  })

  test('takes one task unless asked for more, and none if asked for none', async () => {
    await push('a', 'b')
    expect(await poll(fixture.tasks, 0)).toEqual([])
    expect(names(await fixture.commit<HeldTask[]>((transaction) => fixture.tasks.poll(transaction, fixture.topic)))).toEqual([
      'a',
    ])
  })

  test('gives what was pushed, and counts attempts and tries', async () => {
    const creation = {
      identifier: 'a',
      input: 'in {"}, \\ put',
      reference: 'ref',
      externalId: `x-${fixture.topic}`,
      priority: 7,
      maxTries: 3,
      headers: { trace: ['1', null], deep: { n: 1.5 } },
    }
    await fixture.commit((transaction) => fixture.tasks.push(transaction, fixture.topic, creation))
    const [first] = await poll(fixture.tasks, 1)
    expect(first).toMatchObject({ topic: fixture.topic, attempt: 1, tries: 1, ...creation })
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, first ? [first] : []))
    expect((await poll(fixture.tasks, 1))[0]).toMatchObject({ attempt: 2, tries: 1, ...creation })
  })

  test('gives nothing that was not pushed: each field that may be left out is there by itself', async () => {
    const optional = [
      { input: 'in' },
      { reference: 'r' },
      { externalId: `x-${fixture.topic}` },
      { maxTries: 3 },
      { headers: { a: 1 } },
      { priority: -3 },
      { deadline: new Date('2100-01-01T00:00:00.000Z') },
      {},
    ]
    await fixture.push(...optional.map((fields, index) => ({ identifier: String(index), ...fields })))
    const told = (await poll(fixture.tasks, optional.length)).map((task) =>
      Object.fromEntries(
        Object.entries(task).filter(([name]) => !['topic', 'sequence', 'identifier', 'lease', 'attempt', 'tries'].includes(name)),
      ),
    )
    expect(told).toStrictEqual(optional.map((fields) => ({ priority: 0, ...fields })))
  })

  test('sees nothing of a push that rolls back', async () => {
    await fixture
      .commit(async (transaction) => {
        await fixture.tasks.push(transaction, fixture.topic, 'a')
        throw new Error('no')
      })
      .catch(() => {})
    expect(await poll(fixture.tasks, 1)).toEqual([])
  })

  test('that rolls back leaves its tasks ready, also to the same repository', async () => {
    await push('a', 'b', 'c', 'd')
    await fixture
      .commit(async (transaction) => {
        expect(names(await fixture.tasks.poll(transaction, fixture.topic, { size: 2 }))).toEqual(['a', 'b'])
        expect(names(await fixture.tasks.poll(transaction, fixture.topic, { size: 1 }))).toEqual(['c'])
        throw new Error('no')
      })
      .catch(() => {})
    expect(names(await poll(fixture.tasks, 10))).toEqual(['a', 'b', 'c', 'd'])
  })

  test('keeps topics apart', async () => {
    const other = `${fixture.topic}-other`
    await fixture.commit((transaction) => fixture.tasks.initialize(transaction, other))
    await fixture.commit((transaction) => fixture.tasks.push(transaction, other, 'theirs'))
    await push('ours')
    expect(names(await poll(fixture.tasks, 10))).toEqual(['ours'])
  })

  test('is refused to an owner that is not registered, and takes nothing', async () => {
    await push('a')
    const stranger = fixture.subject.tasks()
    const before = await fixture.page()
    const error = await fixture.commit((transaction) => thrownBy(() => stranger.poll(transaction, fixture.topic, { size: 1 })))
    expect(error).toMatchObject({ name: 'TaskError', code: 'OWNER_UNKNOWN', data: { owner: stranger.owner } })
    expect(String(error)).toContain('register')
    expect(await fixture.page()).toEqual(before)
    expect(names(await poll(fixture.tasks, 1))).toEqual(['a'])
  })

  test('is refused for a topic that was never initialised', async () => {
    const polling = fixture.commit<HeldTask[]>((transaction) => fixture.tasks.poll(transaction, 'never'))
    await expect(polling).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN', data: { topic: 'never' } })
    await expect(polling).rejects.toThrow(/initialize/)
  })

  test('takes every task of many, in order, however many polls it needs', async () => {
    const identifiers = Array.from({ length: 5_000 }, (_, index) => String(index))
    await push(...identifiers)
    const seen: string[] = []
    for (let batch = await poll(fixture.tasks, 700); batch.length > 0; batch = await poll(fixture.tasks, 700)) {
      seen.push(...names(batch))
      const decisions = new Map(batch.map((task) => [task, TaskDecision.success()]))
      await fixture.commit((transaction) => fixture.tasks.complete(transaction, fixture.topic, decisions))
    }
    expect(seen).toEqual(identifiers)
  })

  test('puts a task that comes back where its sequence belongs', async () => {
    await push('a', 'b', 'c', 'd', 'e')
    const [a, b, c] = await poll(fixture.tasks, 3)
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [b!]))
    expect(names(await poll(fixture.tasks, 2))).toEqual(['b', 'd'])
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [a!, c!]))
    await push('f')
    expect(names(await poll(fixture.tasks, 10))).toEqual(['a', 'c', 'e', 'f'])
  })

  test('prefers a fresh task to a later one that came back', async () => {
    await fixture.commit((transaction) =>
      fixture.tasks.push(transaction, fixture.topic, ['a', { identifier: 'b', delayMs: 1 }, 'c']),
    )
    // The delayed task becomes ready while the first task is still waiting.
    const released = async (): Promise<number> =>
      (await fixture.commit<{ promoted: number }>((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))).promoted
    await expect.poll(released, { interval: 2 }).toBe(1)
    expect(names(await poll(fixture.tasks, 1))).toEqual(['a'])
    expect(names(await poll(fixture.tasks, 1))).toEqual(['b'])
    expect(names(await poll(fixture.tasks, 1))).toEqual(['c'])
  })

  testWhere(engine.writers > 1)('passes over what another transaction is polling, without waiting', async () => {
    await fixture.nextTopic({ record: 'states' })
    await push('a', 'b', 'c')
    const [one, two] = [await fixture.subject.session(), await fixture.subject.session()]
    await one.begin()
    await two.begin()
    expect(names(await fixture.tasks.poll(one.transaction, fixture.topic, { size: 2 }))).toEqual(['a', 'b'])
    expect(names(await rival.poll(two.transaction, fixture.topic, { size: 2 }))).toEqual(['c'])
    await one.rollback()
    expect(names(await rival.poll(two.transaction, fixture.topic, { size: 2 }))).toEqual(['a', 'b'])
    await two.commit()
    expect(await poll(fixture.tasks, 3)).toEqual([])
  })

  testWhere(engine.writers > 1)(
    'gives what came back before what is fresh, while another transaction polls the first of it',
    async () => {
      await fixture.nextTopic({ record: 'states' })
      await push('a', 'b')
      const [a, b] = await poll(fixture.tasks, 2)
      await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [a!, b!]))
      await push('c')
      const other = await fixture.subject.session()
      await other.begin()
      expect(names(await rival.poll(other.transaction, fixture.topic, { size: 1 }))).toEqual(['a'])
      expect(names(await poll(fixture.tasks, 1))).toEqual(['b'])
      expect(names(await poll(fixture.tasks, 1))).toEqual(['c'])
      await other.rollback()
      expect(names(await poll(fixture.tasks, 1))).toEqual(['a'])
    },
  )

  testWhere(engine.writers > 1)(
    'finds what is free behind thousands of tasks that came back and others are polling',
    async () => {
      await fixture.nextTopic({ record: 'states' })
      await push(...Array.from({ length: 3_000 }, (_, index) => `t${index}`))
      const batch = await poll(fixture.tasks, 3_000)
      await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, batch))
      await push('fresh')
      const other = await fixture.subject.session()
      await other.begin()
      expect(await rival.poll(other.transaction, fixture.topic, { size: 2_999 })).toHaveLength(2_999)
      expect(names(await poll(fixture.tasks, 10))).toEqual(['t2999', 'fresh'])
      await other.rollback()
    },
  )

  test('reclaims what an unanswered poll has taken, and nothing else', async () => {
    await push('a', 'b', 'c', 'd')
    const known = await poll(fixture.tasks, 1)
    await poll(fixture.tasks, 1) // its answer is lost, so the node does not know of the task
    const theirs = await poll(rival, 1)
    const reclaimed = await fixture.commit((transaction) => fixture.tasks.reclaim(transaction, fixture.topic, known))
    expect(reclaimed).toBe(1)
    expect(names(await poll(fixture.tasks, 10))).toEqual(['b', 'd'])
    expect(names(theirs)).toEqual(['c'])
  })
})
