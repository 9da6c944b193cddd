/** Before a deploy, what waits is read as the new definitions would read it. */
import { defineJob, defineTopic, json, versioned } from 'taskstream'
import type { AnyJob, AnyTopic, CheckedDefinition, CheckOptions } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'

const first = json<{ id: number }>()
const second = versioned(first).to(z.object({ id: z.number().max(99), currency: z.string() }), (old) => ({
  ...old,
  currency: 'NOK',
}))
const unknown = { known: false, lookedAt: 0, more: false, versions: {}, misfitCount: 0, misfits: [] }

describe.skipIf(!canRun)('a check of what waits', () => {
  const fixture = useJobFixture()

  const pushRaw = (definition: AnyJob | AnyTopic, input: string, headers: object = {}): Promise<void> =>
    fixture.commit(async (transaction) => {
      await fixture.subject
        .tasks()
        .push(transaction, definition.name, { identifier: definition.name, input, headers: { ...headers } })
    })

  test('counts it by version in every state in which it is still to be handled, and changes nothing', async () => {
    const one = defineJob('states', { input: first })
    const two = defineJob('states', { input: second })
    await using stream = fixture.streamOf()
    await stream.prepare(one)
    await stream.submit(one, { id: 1 })
    await stream.submit(one, { id: 100 }, { id: 'ready', tags: { kind: 'rare' } })
    await stream.submit(one, { id: 101 }, { id: 'delayed', delayMs: 3_600_000 })
    await stream.submit(one, { id: 102 }, { suspended: true, id: 'suspended' })
    await stream.submit(two, { id: 3, currency: 'SEK' })

    const before = await fixture.page(one)
    const [found] = await stream.check([two])
    expect(found).toEqual({
      what: 'job',
      name: 'states',
      known: true,
      lookedAt: 5,
      more: false,
      versions: { 1: 4, 2: 1 },
      misfitCount: 3,
      misfits: ['ready', 'delayed', 'suspended'].map((id) => ({
        id,
        version: 1,
        message: expect.stringMatching(/was pushed as version 1, and does not fit the schema of version 2: id/) as unknown,
      })),
    })
    expect((await stream.check([one]))[0]).toMatchObject({
      lookedAt: 5,
      versions: { 1: 4, 2: 1 },
      misfits: [{ version: 2, message: expect.stringContaining('has version 2, and this program knows none after 1') }],
    })
    expect(await fixture.page(one)).toEqual(before)
  })

  test('counts what is being handled, or was when its process fell silent, and nothing that has ended', async () => {
    const job = defineJob('at-work', { input: first })
    const held = Promise.withResolvers<void>()
    await using stream = fixture.streamOf()
    stream.handle(job, async ({ id }) => {
      if (id === 'failed') throw new Error('not now')
      if (id === 'active') await held.promise
    })
    await stream.prepare(job)
    await stream.submit(job, { id: 1 }, { id: 'failed', maxTries: 1 })
    await stream.submit(job, { id: 2 }, { id: 'succeeded' })
    await stream.submit(job, { id: 3 }, { id: 'cancelled', delayMs: 3_600_000 })
    await fixture.commit(async (transaction) => stream.cancel(transaction, job, 'cancelled'))
    await stream.submit(job, { id: 4 }, { id: 'active' })
    await stream.start()
    try {
      await expect.poll(() => fixture.states(job)).toEqual({ failed: 1, succeeded: 1, filtered: 1, active: 1 })
      const next = defineJob('at-work', { input: z.string() })
      expect(await stream.check([next])).toMatchObject([{ lookedAt: 1, misfitCount: 1, misfits: [{ id: 'active' }] }])
      const states = async (): Promise<unknown> => {
        await fixture.commit(async (tx) => fixture.subject.tasks().expire(tx, { olderThanMs: 0, then: 'expired' }))
        return fixture.states(job)
      }
      await expect.poll(states).toEqual({ failed: 1, succeeded: 1, filtered: 1, expired: 1 })
      expect(await stream.check([next])).toMatchObject([{ lookedAt: 1, misfitCount: 1, misfits: [{ id: 'active' }] }])
    } finally {
      held.resolve()
    }
  })

  test('names the first ten misfits of many, by their ids, and counts them all', async () => {
    const topic = defineTopic('misfits', { input: second })
    await using stream = fixture.streamOf()
    await stream.prepare(topic)
    const sequences: number[] = []
    await fixture.commit(async (transaction) => {
      // More than a portion, of which every twentieth does not fit.
      const creations = Array.from({ length: 300 }, (_, id) => ({
        identifier: 'misfits',
        input: JSON.stringify(id % 20 === 7 ? { id: 'x' } : { id: 7, currency: 'SEK' }),
        headers: { version: id < 250 ? 2 : 1 },
      }))
      const pushed = await fixture.subject.tasks().push(transaction, 'misfits', creations)
      sequences.push(...pushed.map(({ sequence }) => sequence))
    })
    await pushRaw(topic, '{}', { version: 'two' })
    await pushRaw(topic, '{"id', { version: 2 })
    const [found] = await stream.check([topic])
    expect(found).toMatchObject({
      what: 'topic',
      name: 'misfits',
      lookedAt: 302,
      more: false,
      versions: { 1: 50, 2: 251 },
      misfitCount: 17,
    })
    const misfits = Array.from({ length: 10 }, (_, index) => `@${sequences[20 * index + 7]}`)
    expect(found!.misfits.map(({ id }) => id)).toEqual(misfits)
    expect(found!.misfits[0]!.version).toBe(2)
    await fixture.commit(async (transaction) => {
      for (const id of misfits) await stream.topic(topic).cancel(transaction, id)
    })
    const [then] = await stream.check([topic])
    expect(then!.misfits.map(({ version }) => version)).toEqual([2, 2, 2, 1, 1, undefined, 2])
    expect(then!.misfits.slice(-2).map(({ message }) => message)).toEqual([
      expect.stringContaining('must be a whole number from 1, and is "two"'),
      expect.stringContaining('is no JSON'),
    ])
  })

  test('ends at its limit, for each definition, and says whether there are more', async () => {
    const job = defineJob('limited', { input: json<number>() })
    const other = defineJob('limited-too', { input: json<number>() })
    const bare = defineJob('bare')
    await using stream = fixture.streamOf()
    await stream.prepare(job, other, bare)
    await fixture.commit(async (transaction) => {
      await stream.pushMany(
        transaction,
        job,
        Array.from({ length: 401 }, (_, index) => [index]),
      )
      await stream.pushMany(transaction, other, [[1], [2]])
      await stream.push(transaction, bare)
    })
    const counts = async (options?: CheckOptions): Promise<unknown[]> =>
      (await stream.check([job, other, bare], options)).map(({ lookedAt, more, versions }) => [lookedAt, more, versions[1]])
    expect(await counts()).toEqual([
      [401, false, 401],
      [2, false, 2],
      [1, false, 1],
    ])
    for (const limit of [199, 200, 201, 400])
      expect(await counts({ limit })).toEqual([
        [limit, true, limit],
        [2, false, 2],
        [1, false, 1],
      ])
    expect(await counts({ limit: 401 })).toEqual([
      [401, false, 401],
      [2, false, 2],
      [1, false, 1],
    ])
    expect(await counts({ limit: 1 })).toEqual([
      [1, true, 1],
      [1, true, 1],
      [1, false, 1],
    ])
  })

  test('finds nothing of a definition that nobody has prepared, and says so', async () => {
    const known = defineJob('known', { input: first })
    await using stream = fixture.streamOf()
    await stream.prepare(known)
    const found = await stream.check([defineJob('new', { input: first }), defineTopic('new-topic', { input: first }), known])
    expect(found).toEqual([
      { what: 'job', name: 'new', ...unknown },
      { what: 'topic', name: 'new-topic', ...unknown },
      { what: 'job', name: 'known', ...unknown, known: true },
    ] satisfies CheckedDefinition[])
  })

  test('tells of a schema or an upcast whose own code fails, and goes on', async () => {
    const job = defineJob('failing', {
      input: versioned(json<number>()).to(json<number>(), (old) => {
        if (old === 1) throw new Error('a mistake in the upcast')
        return old
      }),
    })
    const later = defineJob('failing', { input: z.number().refine(async () => Promise.resolve(true)) })
    await using stream = fixture.streamOf()
    await stream.prepare(job)
    for (const input of ['1', '2']) await pushRaw(job, input)
    const [found, foundLater] = await stream.check([job, later])
    expect(found).toMatchObject({ lookedAt: 2, misfits: [{ message: expect.stringContaining('a mistake in the upcast') }] })
    expect(foundLater).toMatchObject({ misfitCount: 2, misfits: [{ message: expect.stringContaining('checks at once') }, {}] })
  })

  test('is refused without definitions, and with what is none, by its name', async () => {
    const job = defineJob('refused')
    await using stream = fixture.streamOf()
    const wrong: readonly [unknown, unknown, string, RegExp][] = [
      [[], {}, 'definitions', /a list of at least one job or topic/],
      [job, {}, 'definitions', /a list of at least one job or topic/],
      [undefined, {}, 'definitions', /a list of at least one job or topic/],
      [['refused'], {}, 'job', /must be made by defineJob/],
      [[undefined], {}, 'job', /must be made by defineJob/],
      [[job], { limit: 0 }, 'limit', /from 1 to 1000000/],
      [[job], { limit: 1_000_001 }, 'limit', /from 1 to 1000000/],
      [[job], { limit: 1.5 }, 'limit', /whole number/],
      [[job], { size: 5 }, 'size', /no option of check: it has limit/],
    ]
    for (const [definitions, options, argument, message] of wrong) {
      const attempt = (): Promise<unknown> => stream.check(definitions as readonly AnyJob[], options as CheckOptions)
      await expect(attempt()).rejects.toThrow(message)
      await expect(attempt()).rejects.toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument } })
    }
  })
})
