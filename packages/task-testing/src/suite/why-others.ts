/** The question why a task is not running, where the answer is about another task: one that it needs, or as which it went on. */
import { TaskDecision } from '@taskstream/task-api'
import type { Diagnosis } from '@taskstream/task-api'
import { beforeEach, expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part } from './engine.ts'
import type { Part, Tasks } from './engine.ts'
import { useFixture } from './fixture.ts'

export const whyOthers: Part = part('the question why a task waits for another one', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  // Tasks need only tasks of topics that share their numbers.
  const fixture = useFixture(engine, { clock: clock.now, topic: { record: 'states' } })
  let node: Tasks

  const whyOf = (sequence: number): Promise<Diagnosis> =>
    fixture.commit<Diagnosis>((transaction) => fixture.tasks.why(transaction, fixture.topic, sequence))
  const pushed = async (...creations: Parameters<typeof fixture.push>): Promise<number[]> =>
    (await fixture.push(...creations)).map(({ sequence }) => sequence)

  const complete = async (decision: TaskDecision): Promise<unknown> =>
    fixture.complete(await fixture.poll(100, node), decision, node)

  beforeEach(async () => {
    clock.advance(60_000)
    node = await fixture.owner()
    const topics = [{ topic: fixture.topic }]
    await fixture.commit((tx) => node.report(tx, { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, topics }))
  })

  test('says of one that is needed and ready why that one is not taken, though its topic is another', async () => {
    const { tasks, topic: first, commit } = fixture
    const [needed] = await pushed('needed')
    await fixture.nextTopic({ record: 'states' })
    const [waiting] = await pushed({ identifier: 'waiting', suspended: true })
    const on = { topic: first, sequence: needed! }
    await commit((tx) => tasks.depend(tx, { topic: fixture.topic, sequence: waiting! }, [{ need: 'n', on }]))
    expect(await whyOf(waiting!)).toMatchObject({ code: 'awaits', by: [{ ...on, code: 'next' }], remedies: [] })
    clock.advance(31_000)
    expect(await whyOf(waiting!)).toMatchObject({
      code: 'awaits',
      by: [{ ...on, code: 'no-node', state: 'ready' }],
      remedies: [{ verb: 'start-node', topic: first }],
    })
    await commit((tx) => tasks.deactivate(tx, first))
    expect(await whyOf(waiting!)).toMatchObject({ by: [{ code: 'paused' }], remedies: [{ verb: 'activate', topic: first }] })
    await commit((tx) => tasks.activate(tx, first))
  })

  test('names what one needed that has failed with it, which begins again first', async () => {
    const [root, middle, leaf] = await pushed('root', { identifier: 'm', suspended: true }, { identifier: 'l', suspended: true })
    const { tasks, topic, commit } = fixture
    await commit((tx) => tasks.depend(tx, { topic, sequence: middle! }, [{ need: 'm', on: { topic, sequence: root! } }]))
    await commit((tx) => tasks.depend(tx, { topic, sequence: leaf! }, [{ need: 'l', on: { topic, sequence: middle! } }]))
    await complete(TaskDecision.failure('broken'))
    for (let looks = 0; looks < 2; looks++) await commit((tx) => tasks.settle(tx, topic))
    const redrive = (sequence: number): object => ({ verb: 'redrive', topic, sequence, state: 'failed' })
    expect(await whyOf(leaf!)).toMatchObject({
      code: 'failed',
      by: [
        { sequence: middle, need: 'l', code: 'failed' },
        { sequence: root, need: 'm', code: 'failed', error: 'broken' },
      ],
      remedies: [redrive(root!), redrive(middle!), redrive(leaf!)],
    })
    // As the commands are given one after the other, what is blocked again waits for the root.
    for (const { sequence } of (await whyOf(leaf!)).remedies) {
      await commit((tx) => tasks.redrive(tx, topic, { from: sequence!, to: sequence! }))
      await commit((tx) => tasks.settle(tx, topic))
    }
    for (const _ of [root, middle]) {
      await complete(TaskDecision.success())
      await commit((tx) => tasks.settle(tx, topic))
    }
    expect(await whyOf(leaf!)).toMatchObject({ code: 'next', by: [] })
    await complete(TaskDecision.success())
  })

  test('has no remedy for one that needed what is gone', async () => {
    const { tasks, topic, commit } = fixture
    const [gone, open] = await pushed('gone', 'open')
    await complete(TaskDecision.failure('broken'))
    const [leaf] = await pushed({ identifier: 'leaf', suspended: true })
    await commit((tx) => tasks.redrive(tx, topic, { from: open!, to: open! }))
    const needs = [open!, gone!].map((sequence, place) => ({ need: String(place), on: { topic, sequence } }))
    await commit((tx) => tasks.depend(tx, { topic, sequence: leaf! }, needs))
    await commit((tx) => tasks.settle(tx, topic))
    // What is still to run has nothing to do with it.
    expect((await whyOf(leaf!)).by).toMatchObject([{ sequence: gone, code: 'failed' }])
    await commit((tx) => tasks.purge(tx, topic, { sequences: [gone!], limit: 1 }))
    const lost = await whyOf(leaf!)
    expect([lost.by, lost.remedies]).toMatchObject([[{ sequence: gone, code: 'unknown' }], []])
  })

  test('names what one waits for, and not what has failed and need not succeed', async () => {
    const { tasks, topic, commit } = fixture
    const [failed, gone] = await pushed('failed', 'gone')
    await complete(TaskDecision.failure('broken'))
    const [running, leaf] = await pushed('running', { identifier: 'leaf', suspended: true })
    const on = (need: string, sequence: number, tolerant: boolean): object => ({ need, on: { topic, sequence }, tolerant })
    const needs = [on('f', failed!, true), on('g', gone!, true), on('r', running!, true)] as never
    await commit((tx) => tasks.depend(tx, { topic, sequence: leaf! }, needs))
    await commit((tx) => tasks.purge(tx, topic, { sequences: [gone!] }))
    expect(await whyOf(leaf!)).toMatchObject({ code: 'awaits', by: [{ sequence: running, need: 'r', code: 'next' }] })
  })

  test('says as which task one has gone on, and how far that has come', async () => {
    const [first, second, third] = await pushed('first', 'second', 'third')
    const { topic } = fixture
    const goOn = async (as: number): Promise<unknown> =>
      fixture.complete(await fixture.poll(1, node), TaskDecision.success().withSuccessor({ topic, sequence: as }), node)
    await goOn(second!)
    expect(await whyOf(first!)).toMatchObject({ code: 'succeeded', successor: { sequence: second, code: 'next' } })
    await goOn(third!)
    expect(await whyOf(first!)).toMatchObject({ successor: { sequence: third, identifier: 'third', state: 'ready' } })
    expect(await whyOf(third!)).not.toHaveProperty('successor')
  })
})
