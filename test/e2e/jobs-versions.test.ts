/** Inputs of an earlier version are brought up for their handlers, and those of a later version wait for a program that knows it. */
import type { HeldTask, TaskAttempt } from '@taskstream/task-api'
import { defineJob, defineTopic, fixed, isTaskError, versioned } from 'taskstream'
import type { AnyJob, AnyTopic, TaskError, TaskListener } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { canRun } from '../subject.ts'
import { useJobFixture } from './job-fixture.ts'
import type { JobFixture, TestStream } from './job-fixture.ts'

const first = z.object({ id: z.number() })
const second = versioned(first).to(z.object({ id: z.number().max(99), currency: z.string() }), (old) => {
  if (old.id < 0) throw new Error('there is no such bill')
  return { ...old, currency: 'NOK' }
})
const third = second.to(z.object({ ref: z.string(), currency: z.string() }), ({ id, currency }) => ({
  ref: `bill ${id}`,
  currency,
}))

/** The definitions of one job in three releases. */
function jobOf(name: string) {
  return [defineJob(name, { input: first }), defineJob(name, { input: second }), defineJob(name, { input: third })] as const
}

/** The definitions of one topic in three releases. */
function topicOf(name: string) {
  return [defineTopic(name, { input: first }), defineTopic(name, { input: second }), defineTopic(name, { input: third })] as const
}

/** A listener that keeps the errors. */
function listening(): {
  readonly listener: TaskListener
  readonly errors: { error: TaskError; tasks: readonly HeldTask[] | undefined; pauses: unknown[] }[]
} {
  const errors: ReturnType<typeof listening>['errors'] = []
  const onError: TaskListener['onError'] = ({ error, tasks, decisions }) => {
    const pauses = [...(decisions?.values() ?? [])].map(({ retryAfterMs, refunded }) => [retryAfterMs, refunded])
    if (isTaskError(error)) errors.push({ error, tasks, pauses })
  }
  return { listener: { onError }, errors }
}

/** Pushes what other programs push, which do not know the definitions. */
function rawPushes(fixture: JobFixture): (definition: AnyJob | AnyTopic, input: unknown, version?: unknown) => Promise<void> {
  return (definition, input, version) =>
    fixture.commit(async (transaction) => {
      const headers = version === undefined ? {} : { headers: { version: version as number } }
      const text = typeof input === 'string' ? input : JSON.stringify(input)
      await fixture.subject.tasks().push(transaction, definition.name, { identifier: definition.name, input: text, ...headers })
    })
}

const modes = ['leased', 'transactional'] as const

describe.skipIf(!canRun)('an input', () => {
  const fixture = useJobFixture()
  const pushRaw = rawPushes(fixture)

  const hasten = (stream: TestStream, job: AnyJob, ids: readonly string[]): Promise<void> =>
    fixture.commit(async (transaction) => {
      for (const id of ids) await stream.reschedule(transaction, job, id, { delayMs: 0 })
    })

  test('has its version in a header from 2 on, and none before, however it is pushed', async () => {
    const [one, two, three] = jobOf('stored')
    const [topic, newerTopic] = topicOf('stored-topic')
    await using stream = fixture.streamOf()
    await stream.prepare(three, newerTopic)
    const bill = { id: 2, currency: 'SEK' }
    await fixture.commit(async (transaction) => {
      await stream.push(transaction, one, { id: 1 })
      await stream.push(transaction, one, { id: 1 }, { tags: { kind: 'old' } })
      await stream.push(transaction, two, bill)
      await stream.pushMany(transaction, two, [[bill, { tags: { kind: 'new' } }]])
      await stream.topic(topic).push(transaction, [{ id: 1 }])
      await stream.topic(newerTopic).push(transaction, [bill])
    })
    await stream.submit(three, { ref: 'bill 3', currency: 'EUR' })
    await stream.topic(newerTopic).submit([bill], { each: () => ({ tags: { kind: 'new' } }) })
    const headers = async (definition: AnyJob | AnyTopic): Promise<unknown[]> =>
      (await fixture.page(definition)).map((task) => task.headers)
    expect(await headers(one)).toEqual([
      undefined,
      { tags: { kind: 'old' } },
      { version: 2 },
      { version: 2, tags: { kind: 'new' } },
      { version: 3 },
    ])
    expect(await headers(topic)).toEqual([undefined, { version: 2 }, { version: 2, tags: { kind: 'new' } }])
    const [, , , tagged] = await fixture.commit(async (transaction) => stream.list(transaction, two))
    expect(tagged).toMatchObject({ input: bill, tags: { kind: 'new' } })
  })

  test.each(modes)(
    'of every earlier version is brought up for its handler, a job that goes on included, in mode %s',
    async (mode) => {
      const [one, two, three] = jobOf(`brought ${mode}`)
      const begin = defineJob(`begin ${mode}`, { next: [two] })
      const inputs: unknown[] = []
      await using stream = fixture.streamOf()
      await stream.prepare(three)
      await fixture.commit(async (transaction) => {
        await stream.push(transaction, one, { id: 1 })
        await stream.push(transaction, two, { id: 2, currency: 'SEK' })
        await stream.push(transaction, three, { ref: 'third', currency: 'EUR' })
      })
      stream.handle(three, ({ input }) => void inputs.push(input), { mode })
      stream.handle(begin, ({ next }) => next(two, { id: 4, currency: 'DKK' }))
      await stream.start()
      await stream.submit(begin)
      await expect.poll(() => fixture.states(three)).toEqual({ succeeded: 4 })
      expect(inputs).toHaveLength(4)
      expect(inputs).toEqual(
        expect.arrayContaining([
          { ref: 'bill 1', currency: 'NOK' },
          { ref: 'bill 2', currency: 'SEK' },
          { ref: 'third', currency: 'EUR' },
          { ref: 'bill 4', currency: 'DKK' },
        ]),
      )
    },
  )

  test.each(modes)('that cannot be brought up, or whose version is none, ends its job for good, in mode %s', async (mode) => {
    const [, , three] = jobOf(`broken ${mode}`)
    await using stream = fixture.streamOf()
    await stream.prepare(three)
    const broken: readonly [unknown, unknown, RegExp][] = [
      [{ id: -1 }, undefined, /was pushed as version 1, and the upcast to version 2 has thrown: there is no such bill/],
      [{ id: 100 }, undefined, /was pushed as version 1, and does not fit the schema of version 2: id/],
      [{ id: '1' }, 1, /was pushed as version 1, and does not fit the schema of version 1: id/],
      [{ id: 1 }, 2, /was pushed as version 2, and does not fit the schema of version 2: currency/],
      ['{"id', 2, /is no JSON/],
      [{ ref: 'a', currency: 'b' }, '3', /must be a whole number from 1, and is "3"/],
      [{ ref: 'a', currency: 'b' }, 0, /must be a whole number from 1, and is 0/],
      [{ ref: 'a', currency: 'b' }, null, /must be a whole number from 1, and is null/],
    ]
    for (const [input, version] of broken) await pushRaw(three, input, version)
    let called = 0
    stream.handle(three, () => void called++, { mode })
    await stream.start()
    await expect.poll(() => fixture.states(three)).toEqual({ failed: broken.length })
    const found = await fixture.commit(async (transaction) => stream.list(transaction, three))
    for (const [index, { id, reason, tries, output }] of found.entries()) {
      expect([reason, tries]).toEqual(['terminated', 1])
      expect(output).toMatch(broken[index]![2])
      const attempts = await fixture.commit<readonly TaskAttempt[]>((transaction) => stream.attempts(transaction, three, id))
      expect(attempts).toMatchObject([{ error: expect.stringMatching(broken[index]![2]) }])
    }
    expect(called).toBe(0)
  })

  test.each(modes)(
    'of a later version waits for a program that knows it, with all its tries, and one line tells of them all, in mode %s',
    async (mode) => {
      const [one, two] = jobOf(`newer ${mode}`)
      const { listener, errors } = listening()
      const seen: unknown[] = []
      await using older = fixture.streamOf({ listener })
      older.handle(one, ({ input }) => void seen.push(input), { mode })
      await older.start()
      const ids = ['a', 'b', 'c', 'd', 'e']
      await fixture.commit(async (transaction) => {
        for (const [id, text] of ids.entries())
          await older.push(transaction, two, { id, currency: 'SEK' }, { id: text, maxTries: 1 })
        await older.push(transaction, one, { id: 7 })
      })
      await expect.poll(() => fixture.states(one)).toEqual({ delayed: 5, succeeded: 1 })
      expect(seen).toEqual([{ id: 7 }])
      for (const { tries, output, due, created } of (await fixture.page(one)).filter(({ state }) => state === 'suspended')) {
        expect(tries).toBe(0)
        expect(output).toContain('has version 2, and this program knows none after 1')
        expect(due!.getTime()).toBeGreaterThan(created.getTime())
      }
      const told = errors.filter(({ error }) => error.code === 'INPUT_NEWER')
      expect(told).toMatchObject([{ error: { data: { name: one.name, version: 2, known: 1 } }, pauses: [[1_000, true]] }])
      expect(told[0]!.tasks).toHaveLength(1)
      expect(errors).toEqual(told)
      // Who looks at the process is told, too.
      const putOff = async (): Promise<unknown> => {
        const nodes = await older.transaction((transaction) => older.tasks.nodes(transaction, { topic: one.name }))
        return nodes.map(({ report }) => report?.topics.find(({ topic }) => topic === one.name)?.newer?.message)
      }
      await expect.poll(putOff).toEqual([expect.stringContaining('has version 2')])
      await older.stop()

      await using newer = fixture.streamOf()
      newer.handle(two, ({ input }) => void seen.push(input), { mode })
      await newer.start()
      await hasten(newer, two, ids)
      await expect.poll(() => fixture.states(two)).toEqual({ succeeded: 6 })
      expect(seen).toHaveLength(6)
      expect(seen).toEqual(expect.arrayContaining(ids.map((_, id) => ({ id, currency: 'SEK' }))))
    },
  )

  test('of a later version keeps the later jobs of its key waiting, so that their order holds', async () => {
    const options = { key: () => 'one', ordered: true } as const
    const one = defineJob('newer-ordered', { input: first, ...options })
    const two = defineJob('newer-ordered', { input: second, ...options })
    const seen: number[] = []
    await using older = fixture.streamOf()
    older.handle(one, ({ input }) => void seen.push(input.id))
    await older.start()
    await fixture.commit(async (transaction) => {
      await older.push(transaction, two, { id: 1, currency: 'SEK' }, { id: 'a' })
      await older.push(transaction, one, { id: 2 })
    })
    await expect.poll(() => fixture.states(one)).toEqual({ delayed: 1, ready: 1 })
    await older.stop()
    await using newer = fixture.streamOf()
    newer.handle(two, ({ input }) => void seen.push(input.id))
    await newer.start()
    await hasten(newer, two, ['a'])
    await expect.poll(() => fixture.states(two)).toEqual({ succeeded: 2 })
    expect(seen).toEqual([1, 2])
  })

  test('keeps its version when its job is tried again by hand', async () => {
    const [one, two] = jobOf('again')
    await using stream = fixture.streamOf()
    await stream.prepare(two)
    const old = await stream.submit(one, { id: -1 }, { id: 'old' })
    await stream.submit(two, { id: 2, currency: 'SEK' }, { id: 'new' })
    const inputs: unknown[] = []
    let fails = true
    stream.handle(
      two,
      ({ input }) => {
        if (fails) throw new Error('not now')
        inputs.push(input)
      },
      { concurrency: 1 },
    )
    await stream.start()
    await expect.poll(() => fixture.states(two)).toEqual({ failed: 1, delayed: 1 })
    fails = false
    await fixture.commit(async (transaction) => {
      await stream.retry(transaction, two, 'new')
      await stream.retry(transaction, two, old)
    })
    await expect.poll(() => fixture.states(two)).toEqual({ failed: 1, succeeded: 1 })
    expect(inputs).toEqual([{ id: 2, currency: 'SEK' }])
  })
})

describe.skipIf(!canRun)('an input of a typed topic', () => {
  const fixture = useJobFixture()
  const pushRaw = rawPushes(fixture)
  const twice = fixed({ tries: 2, afterMs: 0, jitter: 0 })

  const waysOf = ['returns', 'completes with writes', 'throws first'] as const

  test.each(modes.flatMap((mode) => waysOf.map((way) => [mode, way] as const)))(
    'that is old is brought up, and one that is newer waits by itself, in mode %s, if the handler %s',
    async (mode, way) => {
      const name = `topic ${mode} ${way}`
      const [one] = topicOf(name)
      const two = defineTopic(name, { input: second, retry: twice })
      const [, , three] = topicOf(name)
      const { listener, errors } = listening()
      const batches: unknown[][] = []
      await using older = fixture.streamOf({ listener })
      older.topic(two).process({
        mode,
        handler: (held, { complete }) => {
          batches.push(held.map(({ input }) => input))
          if (way === 'throws first' && held.some(({ tries }) => tries === 1)) throw new Error('not now')
          if (way !== 'completes with writes') return undefined
          return complete(async (transaction, still) => {
            for (const { input } of still) await fixture.effect(transaction, `${mode} ${input.id} ${input.currency}`)
          })
        },
      })
      await older.prepare(two)
      await fixture.commit(async (transaction) => {
        await older.topic(one).push(transaction, [{ id: 1 }])
        await older.topic(three).push(transaction, [
          { ref: 'x', currency: 'EUR' },
          { ref: 'y', currency: 'EUR' },
        ])
        await older.topic(two).push(transaction, [{ id: 2, currency: 'SEK' }])
        await older.topic(one).push(transaction, [{ id: -1 }])
      })
      await pushRaw(two, { id: 3, currency: 'SEK' }, 'two')
      await older.start()
      await expect.poll(() => fixture.states(two)).toEqual({ succeeded: 2, delayed: 2, failed: 2 })
      const fitting = [
        { id: 1, currency: 'NOK' },
        { id: 2, currency: 'SEK' },
      ]
      expect(batches.at(-1)).toEqual(fitting)
      for (const batch of batches) expect(batch).toEqual(fitting)
      const tasks = await fixture.page(two)
      expect(tasks.map(({ reason }) => reason)).toEqual([undefined, undefined, undefined, undefined, 'terminated', 'terminated'])
      expect(tasks.filter(({ state }) => state === 'suspended').map(({ tries }) => tries)).toEqual([0, 0])
      const told = errors.filter(({ error }) => error.code === 'INPUT_NEWER')
      expect(told).toMatchObject([{ error: { data: { name, version: 3, known: 2 } }, tasks: [{ sequence: tasks[1]!.sequence }] }])
      if (way === 'completes with writes') expect(await fixture.effects()).toEqual([`${mode} 1 NOK`, `${mode} 2 SEK`])
    },
  )
})
