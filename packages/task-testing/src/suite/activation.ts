/** Whether a topic is active is kept in the database and is the same for everybody who reads it. */
import type { Activation } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { codeOf, useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

export const activation: Part = part('activation', (engine) => {
  let now = new Date('2026-01-01T00:00:00.000Z')
  const fixture = useFixture(engine, { clock: () => now })

  const set = (verb: 'activate' | 'deactivate', topic = fixture.topic): Promise<boolean> =>
    fixture.commit<boolean>((transaction) => fixture.tasks[verb](transaction, topic))
  const stored = async (topic = fixture.topic): Promise<Activation | undefined> =>
    (await fixture.commit<ReadonlyMap<string, Activation>>((transaction) => fixture.tasks.activations(transaction))).get(topic)

  test('is stored for a topic, with the time of its last change, and says whether anything changed', async () => {
    expect(await stored()).toBeUndefined()
    expect(await set('deactivate')).toBe(true)
    expect(await stored()).toEqual({ active: false, changed: now })
    const before = now
    now = new Date(now.getTime() + 1_234)
    expect(await set('deactivate')).toBe(false)
    expect(await stored()).toEqual({ active: false, changed: before })
    expect(await set('activate')).toBe(true)
    expect(await stored()).toEqual({ active: true, changed: now })
    expect(await set('activate')).toBe(false)
    await fixture.nextTopic()
    expect(await set('activate')).toBe(true)
    expect(await stored()).toEqual({ active: true, changed: now })
    expect(await set('activate')).toBe(false)
  })

  test("is part of the caller's transaction", async () => {
    const undo = new Error('undo')
    await expect(
      fixture.commit(async (transaction) => {
        expect(await fixture.tasks.deactivate(transaction, fixture.topic)).toBe(true)
        throw undo
      }),
    ).rejects.toBe(undo)
    expect(await stored()).toBeUndefined()
  })

  test('stops no push and no poll by hand: it is a word to processors', async () => {
    await set('deactivate')
    await fixture.push('a')
    expect(await fixture.poll()).toHaveLength(1)
  })

  test('knows its topic, and goes with it', async () => {
    await set('deactivate')
    const first = fixture.topic
    await fixture.nextTopic()
    expect(await stored()).toBeUndefined()
    await fixture.commit<boolean>((transaction) => fixture.tasks.destroy(transaction, first))
    await fixture.commit<boolean>((transaction) => fixture.tasks.initialize(transaction, first))
    expect(await stored(first)).toBeUndefined()
  })

  test('is of one topic: that of another stays as it is, and as old', async () => {
    const first = fixture.topic
    await set('deactivate')
    const before = await stored()
    await fixture.nextTopic()
    await set('deactivate')
    now = new Date(now.getTime() + 1_000)
    await set('activate')
    expect([await stored(first), await stored()]).toEqual([before, { active: true, changed: now }])
  })

  test('is told in the order of topics', async () => {
    for (const topic of ['m', 'a', 'z'].map((name) => `${name} of the active`)) {
      await fixture.commit((transaction) => fixture.tasks.initialize(transaction, topic))
      await set('activate', topic)
    }
    const all = await fixture.commit<ReadonlyMap<string, Activation>>((transaction) => fixture.tasks.activations(transaction))
    const told = [...all.keys()].filter((topic) => topic.endsWith('of the active'))
    expect(told).toEqual(['a of the active', 'm of the active', 'z of the active'])
  })

  test('refuses topics that were never initialised, and names that are none', async () => {
    for (const verb of ['activate', 'deactivate'] as const) {
      expect(await codeOf(() => set(verb, 'never-there'))).toBe('TOPIC_UNKNOWN')
      for (const topic of ['', 'x'.repeat(251), 7 as never]) expect(await codeOf(() => set(verb, topic))).toBe('ARGUMENT_INVALID')
    }
  })
})
