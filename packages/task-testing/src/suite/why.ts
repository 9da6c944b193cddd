/** Each task has an answer to the question why it is not running. */
import { diagnosisCodes, TaskDecision } from '@taskstream/task-api'
import type { Diagnosis, DiagnosisCode, HeldTask, NodeReport, NodeTopic, TaskReference } from '@taskstream/task-api'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part, testWhere } from './engine.ts'
import type { Engine, Part, Tasks } from './engine.ts'
import { codeOf, useFixture } from './fixture.ts'

/** Whether polls lock rows, and the engine shows what others have locked without waiting for them. */
const seesRowLocks = ({ family, writers, outcomes }: Engine): boolean => writers > 1 && family !== 'oracle' && !outcomes

export const why: Part = part('the question why a task is not running', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })
  const { failure, filter, retry, success, suspension } = TaskDecision
  const seesLocks = testWhere(seesRowLocks(engine))
  const reached = new Set<DiagnosisCode>()
  let node: Tasks

  const whyOf = async (reference: TaskReference, topic = fixture.topic): Promise<Diagnosis> => {
    const told = await fixture.commit<Diagnosis>((transaction) => fixture.tasks.why(transaction, topic, reference))
    for (const code of [told.code, ...told.also]) reached.add(code)
    return told
  }
  const report = (topics: readonly NodeTopic[] = [{ topic: fixture.topic }], more: Partial<NodeReport> = {}): Promise<unknown> =>
    fixture.commit((transaction) =>
      node.report(transaction, { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, topics, ...more }),
    )
  const poll = (size = 100): Promise<HeldTask[]> => fixture.poll(size, node)
  const complete = (tasks: readonly HeldTask[], decision?: TaskDecision): Promise<unknown> =>
    fixture.complete(tasks, decision, node)
  const pushed = async (...creations: Parameters<typeof fixture.push>): Promise<number[]> =>
    (await fixture.push(...creations)).map(({ sequence }) => sequence)
  const ended = async (decision: TaskDecision): Promise<Diagnosis> => {
    const [sequence] = await pushed('a')
    await complete(await poll(), decision)
    return await whyOf(sequence!)
  }

  beforeEach(async () => {
    // A node of its own for each test: the owners before it are dead.
    clock.advance(60_000)
    node = await fixture.owner()
    await report()
  })

  test('is answered for one that is not there, and refused for a topic that is not', async () => {
    expect(await whyOf(4_711)).toMatchObject({ code: 'unknown', also: [], by: [], remedies: [] })
    expect(await codeOf(() => whyOf(1, 'nobody'))).toBe('TOPIC_UNKNOWN')
    expect(await codeOf(() => whyOf(-1))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => whyOf({ identifier: 'a' }))).toBe('TOPIC_NOT_KEYED')
    const { tasks, topic, commit } = fixture
    expect(await codeOf(() => commit((tx) => tasks.task(tx, topic, { identifier: 'a' })))).toBe('TOPIC_NOT_KEYED')
  })

  test.each([
    [success('fine'), 'succeeded', []],
    [failure('no'), 'failed', ['redrive']],
    [filter('not needed'), 'filtered', ['redrive']],
    [suspension('ask somebody'), 'suspended', ['redrive']],
  ] as const)('says what became of one that has ended: %s', async (decision, code, remedies) => {
    const told = await ended(decision)
    expect(told).toMatchObject({ code, at: clock.now(), since: clock.now(), also: [] })
    expect(told.remedies.map(({ verb }) => verb)).toEqual(remedies)
    if (code === 'failed') expect(told.last).toMatchObject({ attempt: 1, error: 'no', ended: clock.now() })
  })

  test('tells copies and what a newer one took the place of', async () => {
    await fixture.nextTopic({ keyed: true })
    const [first] = await pushed('a')
    await fixture.commit((transaction) => fixture.tasks.push(transaction, fixture.topic, 'a', { insertion: 'supersede' }))
    expect(await whyOf(first!)).toMatchObject({ code: 'redundant' })
    const [second] = await poll()
    await complete([second!], failure())
    await fixture.commit((transaction) => fixture.tasks.recreate(transaction, fixture.topic, 'append', [second!]))
    expect(await whyOf(second!.sequence)).toMatchObject({ code: 'recreated' })
  })

  test('says who holds one, and whether he lives', async () => {
    const [sequence] = await pushed('a')
    await poll(1)
    expect(await whyOf(sequence!)).toMatchObject({ code: 'running', owner: { owner: node.owner, heartbeat: clock.now() } })
    clock.advance(20_000)
    expect(await whyOf(sequence!)).toMatchObject({ code: 'owner-silent', until: new Date(clock.now().getTime() + 10_000) })
    clock.advance(11_000)
    expect(await whyOf(sequence!)).toMatchObject({ code: 'owner-dead', also: ['no-node'] })
    await fixture.commit((transaction) => node.unregister(transaction))
    const told = await whyOf(sequence!)
    expect(told).toMatchObject({ code: 'owner-dead', owner: { owner: node.owner } })
    expect(told.remedies).toEqual([{ verb: 'start-node', topic: fixture.topic, owner: node.owner }])
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 30_000 }))
    expect(await whyOf(sequence!)).toMatchObject({ code: 'expired', last: { attempt: 1 } })
  })

  test('says of which one a handler does not let go, and since when, as long as its node lives', async () => {
    const [sequence, other] = await pushed('a', 'b')
    await poll()
    const { topic } = fixture
    await report([{ topic, stuck: [{ sequence: sequence!, attempt: 1, forMs: 7_000 }] }])
    const since = new Date(clock.now().getTime() - 7_000)
    clock.advance(3_000)
    expect(await whyOf(sequence!)).toMatchObject({ code: 'stuck', since, owner: { owner: node.owner } })
    expect(await whyOf(other!)).toMatchObject({ code: 'running' })
    // What is told of another attempt or topic, or in another form, says nothing of this one.
    for (const stuck of [[{ sequence: sequence!, attempt: 2, forMs: 1 }], 'what a later release tells'] as const) {
      await report([
        { topic: 'another', stuck: [{ sequence: sequence!, attempt: 1, forMs: 1 }] },
        { topic, stuck: stuck as unknown as [] },
      ])
      expect(await whyOf(sequence!)).toMatchObject({ code: 'running' })
    }
    await report([{ topic, stuck: [{ sequence: sequence!, attempt: 1, forMs: 7_000 }] }])
    clock.advance(20_000)
    expect(await whyOf(sequence!)).toMatchObject({ code: 'owner-silent' })
  })

  test('says for what one that is set aside waits', async () => {
    const [delayed, again] = await pushed({ identifier: 'd', delayMs: 60_000 }, 'r')
    await complete(await poll(), retry({ afterMs: 60_000 }, 'not yet'))
    const until = new Date(clock.now().getTime() + 60_000)
    // That a node is full now says nothing of later.
    await report([{ topic: fixture.topic, concurrency: 2, busy: 2 }])
    expect(await whyOf(delayed!)).toMatchObject({ code: 'delayed', also: [], until, remedies: [{ verb: 'reschedule' }] })
    expect(await whyOf(again!)).toMatchObject({ code: 'retrying', also: [], until, last: { error: 'not yet' } })
    await report([{ topic: 'another' }])
    expect([(await whyOf(delayed!)).also, (await whyOf(again!)).also]).toEqual([['no-node'], ['no-node']])
    await report()
    clock.advance(63_000)
    await fixture.commit((transaction) => node.heartbeat(transaction))
    expect(await whyOf(again!)).toMatchObject({ code: 'overdue', also: [], remedies: [{ verb: 'examine' }] })
    await report([{ topic: fixture.topic, error: { activity: 'poll', message: '2 handlers run on', since: until } }])
    expect(await whyOf(again!)).toMatchObject({ also: ['node-failing'], remedies: [] })
    clock.advance(31_000)
    expect(await whyOf(again!)).toMatchObject({ since: until, also: ['no-node'], remedies: [{ verb: 'start-node' }] })
  })

  test('names what one needs, and the root of that', async () => {
    const [root, middle, leaf] = await pushed(
      'root',
      { identifier: 'middle', suspended: true },
      { identifier: 'leaf', suspended: true },
    )
    const { tasks, topic, commit } = fixture
    await commit((tx) => tasks.depend(tx, { topic, sequence: middle! }, [{ need: 'm', on: { topic, sequence: root! } }]))
    await commit((tx) => tasks.depend(tx, { topic, sequence: leaf! }, [{ need: 'l', on: { topic, sequence: middle! } }]))
    await complete(await poll(), failure('broken'))
    const told = await whyOf(leaf!)
    expect(told.code).toBe('awaits')
    expect(told.by).toMatchObject([
      { sequence: middle, need: 'l', code: 'awaits', state: 'blocked' },
      { sequence: root, need: 'm', code: 'failed', error: 'broken' },
    ])
    expect(told.remedies).toEqual([{ verb: 'redrive', topic, sequence: root, state: 'failed' }])
  })

  test('says what keeps the topic of a ready one, in the order in which it has to be mended', async () => {
    const [sequence] = await pushed('a')
    const { tasks, topic, commit } = fixture
    expect(await whyOf(sequence!)).toMatchObject({ code: 'next', nodes: { count: 1, troubles: [] } })
    const since = new Date('2025-12-31T23:00:00.000Z')
    await report([{ topic, error: { activity: 'poll', message: 'no connection', since } }])
    expect(await whyOf(sequence!)).toMatchObject({
      code: 'node-failing',
      nodes: { troubles: [{ owner: node.owner, activity: 'poll', message: 'no connection', since }] },
    })
    await report([{ topic, concurrency: 2, busy: 2, ended: 7 }])
    expect(await whyOf(sequence!)).toMatchObject({ code: 'no-slot', pace: 7 })
    await commit((transaction) => tasks.quiet(transaction, node.owner))
    expect(await whyOf(sequence!)).toMatchObject({ code: 'node-quiet', remedies: [{ verb: 'quiet' }] })
    clock.advance(20_000)
    const until = new Date(clock.now().getTime() + 10_000)
    expect(await whyOf(sequence!)).toMatchObject({ code: 'node-silent', until, remedies: [{ verb: 'start-node' }] })
    await report([{ topic: 'another' }])
    expect(await whyOf(sequence!)).toMatchObject({ code: 'no-node', nodes: { count: 0 }, remedies: [{ verb: 'start-node' }] })
    await commit((transaction) => tasks.deactivate(transaction, topic))
    expect(await whyOf(sequence!)).toMatchObject({ code: 'paused', also: [], paused: { since: clock.now() } })
    await commit((transaction) => tasks.activate(transaction, topic))
    // An owner that lives and tells nothing may be a node of an older release.
    await fixture.owner()
    expect(await whyOf(sequence!)).toMatchObject({ code: 'node-unknown', also: [] })
  })

  seesLocks('says that another transaction has the row of a ready one, and waits for nobody', async () => {
    const [first, second, third] = await pushed('a', 'b', 'c')
    const { tasks, topic, subject } = fixture
    const session = await subject.session()
    await session.begin()
    const held: HeldTask[] = await tasks.poll(session.transaction, topic, { size: 1, hold: 'transaction' })
    expect(await whyOf(first!)).toMatchObject({ code: 'locked', nodes: { count: 1 } })
    expect(await whyOf(second!)).toMatchObject({ code: 'behind', ahead: 1 })
    await tasks.cancel(session.transaction, topic, [third!])
    expect(await whyOf(third!)).toMatchObject({ code: 'locked', also: ['behind'] })
    // What a transaction has locked itself is no other's.
    expect(held).toMatchObject([{ sequence: first }])
    expect((await tasks.why(session.transaction, topic, first!)).code).not.toBe('locked')
    // A node that is full may be full of this very task, but a topic that is paused would keep it from being taken anyway.
    await report([{ topic, concurrency: 1, busy: 1 }])
    expect(await whyOf(first!)).toMatchObject({ code: 'locked', also: ['no-slot'] })
    await fixture.commit((transaction) => tasks.deactivate(transaction, topic))
    expect(await whyOf(first!)).toMatchObject({ code: 'paused', also: ['no-slot'] })
    await fixture.commit((transaction) => tasks.activate(transaction, topic))
    await report()
    await session.rollback()
    expect(await whyOf(first!)).toMatchObject({ code: 'next', also: [] })
    expect(await whyOf(third!)).toMatchObject({ code: 'behind', also: [] })
    await session.close()
    // Whoever asks keeps nobody from taking the task afterwards.
    expect(await poll(1)).toMatchObject([{ sequence: first }])
  })

  test('has no explanation of the next one that is not taken although a node has looked for work for long', async () => {
    const [sequence] = await pushed('a')
    const { topic } = fixture
    const since = clock.now()
    const later = async (ms: number, told: Partial<NodeTopic>): Promise<Diagnosis> => {
      clock.advance(ms)
      await fixture.commit((transaction) => node.heartbeat(transaction))
      await report([{ topic, ...told }])
      return await whyOf(sequence!)
    }
    expect(await later(30_000, { emptyMs: 90_000 })).toMatchObject({ code: 'next' })
    expect(await later(1, { emptyMs: 90_000 })).toMatchObject({ code: 'unexplained', since, nodes: { count: 1 } })
    expect(await later(1, { emptyMs: 30_000 })).toMatchObject({ code: 'next' })
    expect(await later(1, {})).toMatchObject({ code: 'next' })
    expect(await later(60_000, { emptyMs: 90_000, idleMs: 60_000 })).toMatchObject({ code: 'next' })
    expect(await later(60_000, { emptyMs: 300_000, idleMs: 60_000 })).toMatchObject({ code: 'unexplained', since })
    // Nobody knows since when one is ready that was tried before.
    const [held] = await poll()
    await fixture.commit((transaction) => node.handBack(transaction, topic, [held!]))
    expect(await later(90_000, { emptyMs: 90_000 })).toMatchObject({ code: 'next' })
  })

  test('counts its wait for an explanation from when the one before it ended', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    const { topic } = fixture
    const [, sequence] = await pushed('a', 'a')
    const later = async (ms: number): Promise<Diagnosis> => {
      clock.advance(ms)
      await fixture.commit((transaction) => node.heartbeat(transaction))
      await report([{ topic, emptyMs: 300_000 }])
      return await whyOf(sequence!)
    }
    const held = await poll()
    expect(await later(100_000)).toMatchObject({ code: 'out-of-turn' })
    await complete(held)
    const since = clock.now()
    expect(await later(30_000)).toMatchObject({ code: 'next' })
    expect(await later(1)).toMatchObject({ code: 'unexplained', since })
  })

  test('counts those that come first, in the order of the topic', async () => {
    for (const [order, ahead] of [
      ['fifo', [0, 1, 2]],
      ['lifo', [2, 1, 0]],
      ['priority', [1, 0, 2]],
      ['shared', [0, 0, 1]],
    ] as const) {
      await fixture.nextTopic({ order })
      await report()
      const sequences = await pushed({ identifier: 'a' }, { identifier: 'b', priority: 5 }, { identifier: 'a' })
      const told = await Promise.all(sequences.map((sequence) => whyOf(sequence)))
      expect([order, told.map((each) => each.ahead ?? 0)]).toEqual([order, ahead])
      expect(told.map(({ code }) => code)).toEqual(ahead.map((count) => (count > 0 ? 'behind' : 'next')))
    }
  })

  test('names the limit that is reached, and until when', async () => {
    const { tasks, topic, commit } = fixture
    const [, sequence] = await pushed('a', 'b')
    await poll(1)
    await commit((transaction) => tasks.limit(transaction, topic, { total: 1 }))
    expect(await whyOf(sequence!)).toMatchObject({ code: 'limited', limit: { kind: 'total', amount: 1 } })
    await commit((transaction) => tasks.limit(transaction, topic, { total: 2, rate: { count: 1, perMs: 60_000 } }))
    expect(await whyOf(sequence!)).toMatchObject({ code: 'next' })
    await commit((transaction) => tasks.takeTokens(transaction, topic, 1))
    const until = new Date(clock.now().getTime() + 60_000)
    expect(await whyOf(sequence!)).toMatchObject({ code: 'limited', limit: { kind: 'rate', amount: 1 }, until })
    clock.advance(60_001)
    await commit((transaction) => node.heartbeat(transaction))
    await report()
    expect(await whyOf(sequence!)).toMatchObject({ code: 'next' })
    const [late] = await pushed({ identifier: 'c', deadlineMs: 0 })
    expect(await whyOf(late!)).toMatchObject({ code: 'past-deadline' })
  })

  test('names the task of the identifier that comes first, and how to go on', async () => {
    const { tasks, commit } = fixture
    await fixture.nextTopic({ condition: 'singular-by-identifier-suspend-until-success' })
    await report()
    const { topic } = fixture
    const [first, second] = await pushed('a', 'a')
    expect(await whyOf(second!)).toMatchObject({ code: 'out-of-turn', by: [{ sequence: first, code: 'next' }] })
    const [held] = await poll()
    expect(await whyOf({ identifier: 'a' })).toMatchObject({ task: { sequence: first }, code: 'running' })
    expect(await whyOf(second!)).toMatchObject({ by: [{ sequence: first, code: 'running', state: 'active' }] })
    await complete([held!], failure('insufficient funds'))
    const told = await whyOf({ identifier: 'a' })
    expect(told).toMatchObject({
      task: { sequence: second },
      code: 'out-of-turn',
      by: [{ topic, sequence: first, identifier: 'a', code: 'failed', error: 'insufficient funds' }],
    })
    expect(told.remedies).toEqual(['redrive', 'reassign'].map((verb) => ({ verb, topic, sequence: first, state: 'failed' })))
    await commit((transaction) => tasks.redrive(transaction, topic))
    expect(await whyOf({ identifier: 'a' })).toMatchObject({ task: { sequence: first }, code: 'next' })
  })

  test('finds a task by its external id, or by its identifier the first that has not ended, or else the last', async () => {
    for (const options of [{ keyed: true }, { order: 'shared' }, { condition: 'singular-by-identifier' }] as const) {
      await fixture.nextTopic(options)
      const [first, second] = await pushed('a', { identifier: 'a', externalId: 'x' }, 'b')
      expect((await whyOf({ externalId: 'x' })).task?.sequence).toBe(second)
      expect((await whyOf({ identifier: 'a' })).task?.sequence).toBe(first)
      const { tasks, topic, commit } = fixture
      expect(await commit((tx) => tasks.task(tx, topic, { identifier: 'a' }))).toMatchObject({ identifier: 'a', sequence: first })
      expect(await commit((tx) => tasks.task(tx, topic, { identifier: 'nobody' }))).toBeUndefined()
      for (const wanted of [second, second]) {
        await complete(await poll(1))
        expect((await whyOf({ identifier: 'a' })).task?.sequence).toBe(wanted)
        if (options.order === 'shared') await complete(await poll(1))
      }
      expect((await whyOf({ identifier: 'nobody' })).code).toBe('unknown')
    }
  })

  // Without row locks, or without a way to see them, none is locked.
  const unseen = diagnosisCodes.filter((code) => code === 'locked' && !seesRowLocks(engine))
  afterAll(() => expect(diagnosisCodes.filter((code) => !reached.has(code))).toEqual(unseen))
})
