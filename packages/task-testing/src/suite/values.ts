/** Every value is read back as it was stored, at every permitted size, with times from the given clock. */
import { TaskDecision, taskLimits } from '@taskstream/task-api'
import type { Completion, HeldTask, TaskCreation } from '@taskstream/task-api'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { names, useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))
const runs = Number(process.env['TASKSTREAM_RUNS'] ?? 200)

/** Any text that every engine can store. */
const text = (maximum: number): fc.Arbitrary<string> =>
  fc
    .string({ unit: 'binary', minLength: 1, maxLength: 40, size: 'max' })
    .map((value) => value.replaceAll('\0', '0'))
    .filter((value) => value.length <= maximum && /\S/.test(value))
const json = fc
  .dictionary(text(20), fc.jsonValue({ maxDepth: 2, stringUnit: 'grapheme' }), { maxKeys: 4 })
  // JSON has no minus zero, so the expected value is what JSON makes of it.
  .map((headers) => JSON.parse(JSON.stringify(headers)) as NonNullable<TaskCreation['headers']>)
  .filter((headers) => !JSON.stringify(headers).includes('\\u0000'))
const creation: fc.Arbitrary<TaskCreation> = fc.record(
  {
    identifier: text(taskLimits.identifierLength),
    input: text(1_000),
    reference: text(taskLimits.referenceLength),
    priority: fc.integer({ min: -taskLimits.priority, max: taskLimits.priority }),
    maxTries: fc.integer({ min: 1, max: taskLimits.tries }),
    headers: json,
  },
  { requiredKeys: ['identifier'] },
)

export const values: Part = part('values', (engine) => {
  const fixture = useFixture(engine)
  const complete = (decisions: ReadonlyMap<HeldTask, TaskDecision>): Promise<Completion> =>
    fixture.commit<Completion>((transaction) => fixture.tasks.complete(transaction, fixture.topic, decisions))

  test(`of any kind come back as they were (${runs} batches, seed ${seed})`, async () => {
    const batch = fc.array(fc.tuple(creation, text(200)), { minLength: 1, maxLength: 8 })
    const property = fc.asyncProperty(batch, async (pairs) => {
      await fixture.nextTopic()
      const creations = pairs.map(([one], index) => ({ ...one, externalId: `${index} ${one.identifier}`.slice(0, 500) }))
      await fixture.push(...creations)
      const polled = await fixture.poll()
      expect(polled).toMatchObject(creations)
      await complete(new Map(polled.map((task, index) => [task, TaskDecision.success(pairs[index]![1])])))
      expect(await fixture.page()).toMatchObject(creations.map((one, index) => ({ ...one, output: pairs[index]![1] })))
    })
    await fc.assert(property, { numRuns: runs, seed })
  })

  test('keep the instant at which a task is due to the millisecond, for as long as anybody will wait', async () => {
    const instant = fc.date({ min: new Date(0), max: new Date(Date.now() + taskLimits.durationMs), noInvalidDate: true })
    const property = fc.asyncProperty(fc.array(instant, { minLength: 1, maxLength: 20 }), async (instants) => {
      await fixture.nextTopic()
      await fixture.push(...instants.map((due, index) => ({ identifier: `t${index}`, due })))
      expect((await fixture.page()).map(({ due }) => due)).toEqual(instants)
    })
    await fc.assert(property, { numRuns: Math.min(runs, 50), seed })
  })

  test('of the greatest length allowed are taken, whatever they weigh in bytes', async () => {
    for (const character of ['x', '漢', '🎉']) {
      const longest = (length: number): string => character.repeat(length / character.length)
      const topic = longest(taskLimits.topicLength)
      await fixture.commit((transaction) => fixture.tasks.initialize(transaction, topic))
      const one = {
        identifier: longest(taskLimits.identifierLength),
        reference: longest(taskLimits.referenceLength),
        externalId: longest(taskLimits.externalIdLength),
        headers: { a: longest(60_000) },
      }
      await fixture.commit((transaction) => fixture.tasks.push(transaction, topic, one))
      const [task] = await fixture.commit<HeldTask[]>((transaction) => fixture.tasks.poll(transaction, topic))
      expect(task).toMatchObject(one)
      expect(await fixture.commit((transaction) => fixture.tasks.push(transaction, topic, one))).toMatchObject([
        { outcome: 'duplicate' },
      ])
    }
    const input = 'y'.repeat(taskLimits.inputLength)
    await fixture.push({ identifier: 'heavy', input })
    expect((await fixture.poll())[0]?.input === input).toBe(true)
  })

  test('of a topic name are told apart to the last character', async () => {
    const topics = [
      'mail',
      'Mail',
      'mail ',
      ' mail',
      'máil',
      'ma\u0301il',
      "o'mail",
      'ma"il',
      'ma%l',
      'ma_l',
      'ma.il',
      '邮件',
      '📬',
    ]
    for (const topic of topics) {
      expect(await fixture.commit((transaction) => fixture.tasks.initialize(transaction, topic))).toBe(true)
      await fixture.commit((transaction) => fixture.tasks.push(transaction, topic, `in ${topic}`))
    }
    for (const topic of topics) {
      const batch = await fixture.commit<HeldTask[]>((transaction) => fixture.tasks.poll(transaction, topic, { size: 10 }))
      expect(names(batch)).toEqual([`in ${topic}`])
    }
  })

  test('a hundred thousand in one push are taken and kept in order, and one more is refused', async () => {
    const identifiers = Array.from({ length: taskLimits.batchSize }, (_, index) => `t${index}`)
    const pushed = await fixture.push(...identifiers)
    expect(pushed.every(({ identifier }, index) => identifier === identifiers[index])).toBe(true)
    expect(pushed.every(({ sequence }, index) => index === 0 || sequence > pushed[index - 1]!.sequence)).toBe(true)
    const batch = await fixture.poll(taskLimits.pollSize)
    expect(batch.map(({ identifier }) => identifier)).toEqual(identifiers.slice(0, taskLimits.pollSize))
    expect((await complete(new Map(batch.map((task) => [task, TaskDecision.success()])))).completed).toHaveLength(10_000)
    const tooMany = fixture.commit((transaction) => fixture.tasks.push(transaction, fixture.topic, [...identifiers, 'one more']))
    await expect(tooMany).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' })
    expect(await fixture.states()).toEqual({ succeeded: 10_000, ready: 90_000 })
  })

  test.for([0, 1, 2, 1_000])('go through every verb in a batch of %i', async (size) => {
    const identifiers = Array.from({ length: size }, (_, index) => `t${index}`)
    expect(names(await fixture.push(...identifiers))).toEqual(identifiers)
    const first = await fixture.poll(size)
    expect(names(first)).toEqual(identifiers)
    const returned = await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, first))
    expect(returned).toEqual({ completed: first, lost: [] })
    const second = await fixture.poll(size)
    expect(names(second)).toEqual(identifiers)
    expect(await fixture.commit((transaction) => fixture.tasks.hold(transaction, fixture.topic, second))).toEqual({
      held: second,
      lost: [],
    })
    expect(await fixture.commit((transaction) => fixture.tasks.hold(transaction, fixture.topic, first))).toEqual({
      held: [],
      lost: first,
    })
    const decisions = new Map(second.map((task) => [task, TaskDecision.retry({ afterMs: 0 })]))
    expect(await complete(decisions)).toEqual({ completed: second, lost: [] })
    expect(await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))).toEqual({
      promoted: size,
    })
    expect(await fixture.states()).toEqual(size === 0 ? {} : { ready: size })
  })
})
