/** What an action has made of tasks can be undone, as long as nobody has touched them since. */
import { TaskDecision } from '@taskstream/task-api'
import type {
  FilterState,
  LeftTasks,
  LockedTask,
  LockedTasks,
  LockOptions,
  RecordedAction,
  Restoration,
  TaskCreation,
  TaskInfo,
} from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { codeOf, names, useFixture } from './fixture.ts'

export const restoring: Part = part('restoring', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now, topic: { keyed: true } })
  const lock = async (options: LockOptions = {}): Promise<readonly LockedTask[]> => {
    const { tasks } = await fixture.commit<LockedTasks>((transaction) => fixture.tasks.lock(transaction, fixture.topic, options))
    return tasks
  }
  const restore = (tasks: readonly LockedTask[], left: LeftTasks, made = clock.now()): Promise<Restoration> =>
    fixture.commit<Restoration>((transaction) => fixture.tasks.restore(transaction, fixture.topic, { tasks, left, made }))
  const redriven: LeftTasks = { states: ['ready', 'blocked'] }
  const cancelled: LeftTasks = { states: ['filtered'], reason: 'cancelled' }
  const redrive = (states: readonly ('failed' | 'expired' | 'suspended' | 'delayed' | 'filtered')[]): Promise<unknown> =>
    fixture.commit<unknown>((transaction) => fixture.tasks.redrive(transaction, fixture.topic, { states }))
  const cancel = (sequences: readonly number[]): Promise<unknown> =>
    fixture.commit<unknown>((transaction) => fixture.tasks.cancel(transaction, fixture.topic, sequences))
  const sequence = async (creation: TaskCreation): Promise<number> => (await fixture.push(creation))[0]!.sequence
  /** Makes a task of each state in which a task can be set aside. */
  const ofEachState = async (): Promise<void> => {
    const dead = await fixture.owner()
    await sequence({ identifier: 'expired', deadlineMs: 3_600_000 })
    await fixture.poll(1, dead)
    await fixture.commit((transaction) => dead.unregister(transaction))
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000 }))
    for (const [name, decision] of Object.entries({
      failed: TaskDecision.failure('no'),
      suspended: TaskDecision.suspension('later'),
      retrying: TaskDecision.retry({ afterMs: 5_000 }, 'again'),
    })) {
      clock.advance(1_000)
      await sequence({ identifier: name, priority: 3, maxTries: 7 })
      await fixture.complete(await fixture.poll(1), decision)
    }
    await sequence({ identifier: 'delayed', delayMs: 5_000 })
  }
  const facts = (tasks: readonly TaskInfo[]): unknown =>
    // Who worked on a task before it was redriven, and since when, is in the history of attempts.
    tasks.map(({ owner: _owner, started: _started, ...task }) => task)

  test('makes redriven tasks again what they were, with reason, message, tries and times', async () => {
    await ofEachState()
    const before = await fixture.page()
    const states = ['failed', 'expired', 'suspended', 'delayed'] as const
    const tasks = await lock({ states })
    expect(tasks.map(({ identifier, state }) => `${identifier} ${state}`)).toEqual([
      'expired expired',
      'failed failed',
      'suspended suspended',
      'retrying delayed',
      'delayed delayed',
    ])
    clock.advance(1_000)
    await redrive(states)
    expect(await fixture.states()).toEqual({ ready: 5 })
    clock.advance(1_000)
    const done = await restore(tasks, redriven)
    expect([names(done.restored), done.taken, done.changed, done.overtaken]).toEqual([names(before), 0, 0, 0])
    expect(facts(await fixture.page())).toEqual(facts(before))
    expect(await fixture.poll()).toEqual([])
    // What waits for its time comes in time, as it would have done.
    clock.advance(60_000)
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    expect(names(await fixture.poll())).toEqual(['retrying', 'delayed'])
  })

  test('makes cancelled tasks again what they were, and ready those that were at work', async () => {
    await ofEachState()
    await sequence({ identifier: 'ready' })
    await sequence({ identifier: 'active' })
    const held = await fixture.poll(2)
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [held[0]!]))
    const before = await fixture.page()
    const states: readonly FilterState[] = ['active', 'ready', 'expired', 'suspended', 'delayed']
    const tasks = await lock({ states })
    clock.advance(1_000)
    await cancel(tasks.map((task) => task.sequence))
    clock.advance(1_000)
    expect((await restore(tasks, cancelled)).restored).toHaveLength(6)
    const after = await fixture.page()
    const wanted = before.map(({ started, owner, ...task }) =>
      task.identifier === 'active'
        ? { ...task, state: 'ready' }
        : { ...task, ...(started && task.state !== 'ready' && { started }), ...(owner && task.state !== 'ready' && { owner }) },
    )
    expect(after).toEqual(wanted)
    // Whoever was at work has lost the task, and it is done once more.
    expect((await fixture.complete([held[1]!])).lost).toHaveLength(1)
    expect(names(await fixture.poll())).toEqual(['ready', 'active'])
  })

  test('leaves tasks that were taken, changed or deleted since', async () => {
    await fixture.push('taken', 'done', 'cancelled', 'later', 'gone', 'untouched')
    await fixture.complete(await fixture.poll(), TaskDecision.failure('no'))
    const tasks = await lock({ states: ['failed'] })
    await redrive(['failed'])
    const [, done] = await fixture.poll(2)
    await fixture.complete([done!], TaskDecision.failure('again'))
    const [, , third, fourth, fifth] = tasks.map((task) => task.sequence)
    await cancel([third!])
    await fixture.commit<unknown>((tx) => fixture.tasks.reschedule(tx, fixture.topic, fourth!, { delayMs: 60_000 }))
    await fixture.commit((tx) => fixture.tasks.purge(tx, fixture.topic, { states: ['ready'], sequences: [fifth!] }))
    const others = (await fixture.page()).slice(0, 4)
    const { restored, ...kept } = await restore(tasks, redriven)
    expect([names(restored), kept]).toEqual([['untouched'], { taken: 2, changed: 3, overtaken: 0 }])
    expect(await fixture.page()).toMatchObject([...others, { state: 'failed', output: 'no' }])
    // Undoing it again finds nothing.
    expect((await restore(tasks, redriven)).restored).toEqual([])
  })

  test('gives rescheduled tasks their former time, priority and deadline', async () => {
    const deadline = new Date('2026-06-01T00:00:00.000Z')
    await fixture.push(
      { identifier: 'a', due: new Date('2026-03-01T00:00:00.000Z'), priority: 2, deadline },
      { identifier: 'b', due: new Date('2026-04-01T00:00:00.000Z') },
      'c',
    )
    const before = await fixture.page()
    const tasks = await lock()
    const due = new Date('2026-05-01T00:00:00.000Z')
    const to = { due, priority: 9, deadline: null }
    const all = tasks.map((task) => task.sequence)
    await fixture.commit<unknown>((tx) => fixture.tasks.reschedule(tx, fixture.topic, all, to))
    await fixture.commit<unknown>((tx) => fixture.tasks.reschedule(tx, fixture.topic, all[1]!, { priority: 8 }))
    const left: LeftTasks = { states: ['ready', 'delayed'], due, priority: 9, deadline: null }
    expect(await restore(tasks, left)).toMatchObject({ restored: [{ identifier: 'a' }, { identifier: 'c' }], changed: 1 })
    expect(await fixture.page()).toMatchObject([before[0]!, { due, priority: 8 }, before[2]!])
    expect(names(await fixture.poll())).toEqual(['c'])
  })

  test('keeps the order of an identifier: what was overtaken stays, and what blocks blocks again', async () => {
    const { nextTopic } = fixture
    await nextTopic({ condition: 'singular-by-identifier-suspend-on-failure' })
    await fixture.push('a', 'b', 'a', 'b')
    await fixture.complete(await fixture.poll(2), TaskDecision.failure())
    const failed = await lock({ states: ['failed'] })
    await redrive(['failed'])
    const a = failed.filter(({ identifier }) => identifier === 'a')
    expect((await restore(a, redriven)).restored).toHaveLength(1)
    const [b] = await fixture.poll()
    expect(names([b!])).toEqual(['b'])
    await fixture.complete([b!])
    expect(names(await fixture.poll())).toEqual(['b'])
    // The first a is cancelled, and the second one begins: the first one would now come after it.
    await redrive(['failed'])
    const first = await lock({ tasks: a[0]!.sequence })
    await cancel([a[0]!.sequence])
    const made = clock.now()
    clock.advance(1_000)
    const [second] = await fixture.poll()
    expect(names([second!])).toEqual(['a'])
    expect(await restore(first, cancelled, made)).toEqual({ restored: [], taken: 0, changed: 0, overtaken: 1 })
    await fixture.complete([second!])
    expect(await restore(first, cancelled, made)).toMatchObject({ overtaken: 1 })
    // Nothing has begun since this one was cancelled, so it comes back, and blocks the next.
    await fixture.push('c', 'c')
    const [c] = await lock({ states: ['ready'] })
    await cancel([c!.sequence])
    expect((await restore([c!], cancelled)).restored).toHaveLength(1)
    expect((await fixture.poll()).map((task) => task.sequence)).toEqual([c!.sequence])
  })

  test('blocks tasks again that need others', async () => {
    const [parent, child] = await fixture.push('parent', { identifier: 'child', suspended: true })
    const on = [{ need: 'parent', on: parent! }]
    await fixture.commit<unknown>((transaction) => fixture.tasks.depend(transaction, child!, on))
    const tasks = await lock({ states: ['blocked'] })
    await cancel([child!.sequence])
    expect((await restore(tasks, cancelled)).restored).toHaveLength(1)
    expect(await fixture.states()).toEqual({ ready: 1, blocked: 1 })
    await fixture.complete(await fixture.poll())
    await fixture.commit<unknown>((transaction) => fixture.tasks.settle(transaction, fixture.topic))
    expect(names(await fixture.poll())).toEqual(['child'])
  })

  test('restores many tasks that differ', async () => {
    const many = Array.from({ length: 250 }, (_, index): TaskCreation => ({
      identifier: `i${index}`,
      delayMs: 60_000 + index,
      priority: index % 7,
      ...(index % 3 === 0 && { deadlineMs: 3_600_000 + index }),
    }))
    await fixture.push(...many)
    const before = await fixture.page()
    const tasks = await lock()
    await cancel(tasks.map((task) => task.sequence))
    expect((await restore(tasks, cancelled)).restored).toHaveLength(250)
    expect(await fixture.page()).toEqual(before)
  })

  test('locks the first tasks of a filter, the newest ones, or those that are named, and says where to go on', async () => {
    const pushed = await fixture.push('a', 'b', 'c', 'a')
    const locked = (options: LockOptions): Promise<LockedTasks> =>
      fixture.commit<LockedTasks>((transaction) => fixture.tasks.lock(transaction, fixture.topic, options))
    expect(await locked({ limit: 2 })).toMatchObject({
      tasks: [{ identifier: 'a', state: 'ready', attempt: 0, tries: 0, priority: 0 }, { identifier: 'b' }],
      last: pushed[1]!.sequence,
      hasMore: true,
    })
    expect(await locked({ limit: 3, from: pushed[2]!.sequence })).toMatchObject({ tasks: [{}, {}], hasMore: false })
    expect(await locked({ newest: true, limit: 1 })).toMatchObject({ tasks: [{ sequence: pushed[3]!.sequence }] })
    expect(await locked({ tasks: { identifier: 'a' } })).toMatchObject({ tasks: [{}, {}], hasMore: false })
    expect(await locked({ tasks: [pushed[1]!.sequence], states: ['failed'] })).toEqual({
      tasks: [],
      last: pushed[1]!.sequence,
      hasMore: false,
    })
    for (const wrong of [{ limit: 0 }, { limit: 10_001 }, { tasks: 1, newest: true }, { fingerprint: '' }, { states: ['no'] }])
      expect(await codeOf(() => locked(wrong as LockOptions))).toBe('ARGUMENT_INVALID')
  })

  test('is refused for values that are wrong', async () => {
    await fixture.push('a')
    const [task] = await lock()
    for (const wrong of [
      { tasks: [] },
      { tasks: [{ ...task, state: 'succeeded' }] },
      { tasks: [{ ...task, state: 'delayed' }] },
      { tasks: [{ ...task, due: clock.now() }] },
      { tasks: [{ ...task, attempt: -1 }] },
      { tasks: [{ ...task, reason: 'no' }] },
      { tasks: [null] },
      { left: {} },
      { left: { states: ['no'] } },
      { made: 'today' },
    ])
      expect(
        await codeOf(() =>
          fixture.commit<unknown>((transaction) =>
            fixture.tasks.restore(transaction, fixture.topic, {
              tasks: [task!],
              left: redriven,
              made: clock.now(),
              ...(wrong as object),
            }),
          ),
        ),
      ).toBe('ARGUMENT_INVALID')
  })

  test('is recorded once for each record, whose portions have one id, and old records are purged', async () => {
    const { tasks, topic, commit } = fixture
    const record = (action: object): Promise<string> =>
      commit<string>((transaction) => tasks.record(transaction, { action: 'redrive', topic, count: 1, ...action }))
    const actions = (id: string, details = true): Promise<readonly RecordedAction[]> =>
      commit<readonly RecordedAction[]>((transaction) => tasks.actions(transaction, { id, details }))
    const id = await record({ sequences: [[1, 2]], former: { a: 1 } })
    const second = await record({ portion: { of: id, number: 1 } })
    expect(second).toBe(`${id}-1`)
    // Whoever has got no answer goes on with the same number.
    expect(await record({ portion: { of: id, number: 1 } })).toBe(`${id}-2`)
    expect(await record({ portion: { of: id, number: 10 } })).toBe(`${id}-10`)
    expect(await record({ portion: { of: id, number: 2 } })).toBe(`${id}-11`)
    expect(await record({ undoes: second })).toBe(`${id}-1u`)
    expect(await codeOf(() => record({ undoes: second }))).toBe('ACTION_UNDONE')
    expect(await codeOf(() => record({ undoes: `${second}u` }))).toBe('ARGUMENT_INVALID')
    expect((await actions(id)).map((one) => one.id).toSorted()).toEqual([
      id,
      `${id}-1`,
      `${id}-10`,
      `${id}-11`,
      `${id}-1u`,
      `${id}-2`,
    ])
    const alone = await commit<readonly RecordedAction[]>((transaction) => tasks.actions(transaction, { id, portions: false }))
    expect(alone.map((one) => one.id)).toEqual([id])
    expect((await actions(second)).map((one) => one.id).toSorted()).toEqual([`${id}-1`, `${id}-1u`])
    const brief = (await actions(id, false)).find((one) => one.id === id)
    expect(brief).toMatchObject({ count: 1 })
    expect(brief).not.toHaveProperty('former')
    clock.advance(10_000)
    const other = await record({})
    const purged = await commit<number>((transaction) => tasks.purgeActions(transaction, { olderThanMs: 10_000 }))
    expect(purged).toBeGreaterThanOrEqual(3)
    expect(await actions(id)).toEqual([])
    expect(await actions(other)).toHaveLength(1)
  })
})
