/** Those who wait for tasks learn how they have ended, and what they return. */
import { TaskDecision, taskLimits } from '@taskstream/task-api'
import type { TaskEnding, TaskKey } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { codeOf, useFixture } from './fixture.ts'

export const endings: Part = part('endings', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })
  const endingsOf = (...tasks: readonly TaskKey[]): Promise<readonly (TaskEnding | undefined)[]> =>
    fixture.commit<readonly (TaskEnding | undefined)[]>((transaction) => fixture.tasks.endings(transaction, tasks))
  const endingOf = async (task: TaskKey): Promise<TaskEnding | undefined> => (await endingsOf(task))[0]
  const { success } = TaskDecision
  /** Pushes a task and completes it. */
  const ended = async (name: string, decision: TaskDecision): Promise<TaskKey> => {
    const [task] = await fixture.push(name)
    await fixture.complete(await fixture.poll(1), decision)
    return task!
  }

  test('a task returns a value, apart from its output, once it has succeeded', async () => {
    const [task] = await fixture.push('a')
    expect(await endingOf(task!)).toMatchObject({ state: 'ready', ended: false, value: undefined })
    const held = await fixture.poll(1)
    expect(await endingOf(task!)).toMatchObject({ state: 'active', ended: false })
    await fixture.complete(held, success('sent').withValue('{"id":"日 \u{1f600}"}'))
    const { topic, sequence } = task!
    expect(await endingOf(task!)).toEqual({
      task: { topic, sequence },
      state: 'succeeded',
      ended: true,
      reason: undefined,
      value: '{"id":"日 \u{1f600}"}',
      output: undefined,
    })
    expect((await fixture.page())[0]).toMatchObject({ state: 'succeeded', output: 'sent' })
  })

  test('each state tells whether the work is over, and a failure or a filter says why', async () => {
    const tasks = [
      await ended('failed', TaskDecision.failure('broken').because('timeout')),
      await ended('filtered', TaskDecision.filter('gone')),
      await ended('succeeded', success('not told')),
      await ended('suspended', TaskDecision.suspension('not told')),
      await ended('retrying', TaskDecision.retry({ afterMs: 60_000 }, 'not told')),
    ]
    expect(await endingsOf(...tasks)).toMatchObject([
      { state: 'failed', ended: true, reason: 'timeout', output: 'broken', value: undefined },
      { state: 'filtered', ended: true, output: 'gone' },
      { state: 'succeeded', ended: true, output: undefined, value: undefined },
      { state: 'suspended', ended: false, output: undefined },
      { state: 'suspended', ended: false, output: undefined },
    ])
  })

  test('a task that was recreated is over', async () => {
    const { topic } = fixture
    const recreated = await ended('a', TaskDecision.failure())
    await fixture.commit((transaction) =>
      fixture.tasks.recreate(transaction, topic, 'append', [{ ...recreated, identifier: 'a' }]),
    )
    expect(await endingOf(recreated)).toMatchObject({ state: 'recreated', ended: true })
  })

  test('any number of tasks, of several topics, is told in the order asked for', async () => {
    const one = await ended('a', success().withValue('1'))
    await fixture.nextTopic()
    const pushed = await fixture.push(...Array.from({ length: 300 }, (_, index) => `task ${index}`))
    for (const task of await fixture.poll(300)) await fixture.complete([task], success().withValue(task.identifier.slice(5)))
    const told = await endingsOf(...pushed.toReversed(), one, pushed[7]!, pushed[7]!)
    expect(told.map((ending) => ending?.value)).toEqual([
      ...Array.from({ length: 300 }, (_, index) => String(299 - index)),
      '1',
      '7',
      '7',
    ])
    expect(await endingsOf()).toEqual([])
  }, 30_000)

  test('a task that is not there has no ending, whatever else is asked for', async () => {
    const task = await ended('a', success().withValue('1'))
    const unknown = { topic: fixture.topic, sequence: task.sequence + 1_000_000 }
    const elsewhere = { topic: 'never initialised', sequence: task.sequence }
    expect((await endingsOf(unknown, task, elsewhere)).map((ending) => ending?.value)).toEqual([undefined, '1', undefined])
    expect(await endingsOf(unknown)).toEqual([undefined])
  })

  test('the task that goes on with the work counts, through any number of steps and topics', async () => {
    const first = await ended('first', success())
    const { topic } = fixture
    await fixture.nextTopic()
    const steps: TaskKey[] = await fixture.push('second', 'third', 'last')
    const held = await fixture.poll(3)
    const other = fixture.topic
    const complete = (index: number, decision: TaskDecision): Promise<unknown> => fixture.complete([held[index]!], decision)
    // A task that has ended already goes on nowhere: only its completion says so.
    expect(await endingOf(first)).toMatchObject({ task: { topic }, ended: true })
    await complete(0, success().withSuccessor(steps[1]!))
    expect(await endingOf(steps[0]!)).toMatchObject({ task: { topic: other, sequence: steps[1]!.sequence }, ended: false })
    await complete(1, success().withSuccessor(steps[2]!).withValue('"not the last"'))
    await complete(2, success().withValue('"the last"'))
    for (const step of steps)
      expect(await endingOf(step)).toMatchObject({
        task: { topic: other, sequence: steps[2]!.sequence },
        state: 'succeeded',
        value: '"the last"',
      })
  })

  test('tasks that name each other as successors are over', async () => {
    const pushed = await fixture.push('a', 'b')
    const held = await fixture.poll(2)
    await fixture.complete([held[0]!], success().withSuccessor(pushed[1]!))
    await fixture.complete([held[1]!], success().withSuccessor(pushed[0]!))
    expect(await endingsOf(...pushed)).toMatchObject([
      { state: 'succeeded', ended: true, value: undefined },
      { state: 'succeeded', ended: true, value: undefined },
    ])
  })

  test('a task whose successor is gone has no ending', async () => {
    const [first, second] = await fixture.push('first', 'second')
    const held = await fixture.poll(2)
    await fixture.complete([held[0]!], success().withSuccessor(second!))
    await fixture.complete([held[1]!])
    const { topic, tasks } = fixture
    await fixture.commit((transaction) => tasks.purge(transaction, topic, { from: second!.sequence }))
    expect(await endingOf(first!)).toBeUndefined()
  })

  test('a task that is no longer held returns nothing', async () => {
    const [task] = await fixture.push('a')
    const [held] = await fixture.poll(1)
    await fixture.commit((transaction) => fixture.tasks.cancel(transaction, fixture.topic, task!.sequence))
    expect(await fixture.complete([held!], success().withValue('1'))).toEqual({ completed: [], lost: [held] })
    expect(await endingOf(task!)).toMatchObject({ state: 'filtered', reason: 'cancelled', value: undefined })
  })

  test('a task whose work nobody goes on with has ended, whatever its state', async () => {
    await fixture.nextTopic({ keyed: true })
    const { tasks, topic, commit } = fixture
    const [old] = await fixture.push('a')
    await commit((transaction) => tasks.push(transaction, topic, 'a', { insertion: 'supersede' }))
    expect(await endingOf(old!)).toMatchObject({ state: 'redundant', ended: true })
    await fixture.complete(await fixture.poll(1), TaskDecision.failure())
    const failed = (await fixture.page()).find(({ state }) => state === 'failed')
    expect(await endingOf(failed!)).toMatchObject({ state: 'failed', ended: true })
    await commit((transaction) => tasks.recreate(transaction, topic, 'append', [failed!]))
    expect(await endingOf(failed!)).toMatchObject({ state: 'recreated', ended: true })
    expect(await endingsOf({ topic, sequence: 0 })).toEqual([undefined])
    const many = Array.from({ length: taskLimits.batchSize + 1 }, () => old!)
    expect(await codeOf(() => endingsOf(...many))).toBe('ARGUMENT_INVALID')
  })

  test('of a batch only those return something that are said to', async () => {
    const pushed = await fixture.push('a', 'b', 'c', 'd')
    const held = await fixture.poll(4)
    const decisions = [success().withValue('1'), success(), TaskDecision.failure('no'), success().withValue('null')]
    await fixture.commit((transaction) =>
      fixture.tasks.complete(transaction, fixture.topic, new Map(held.map((task, index) => [task, decisions[index]!]))),
    )
    expect((await endingsOf(...pushed)).map((ending) => ending?.value)).toEqual(['1', undefined, undefined, 'null'])
  })

  test.for(['reset', 'redrive', 'reassign', 'reassignAll'] as const)(
    'a task that %s revives returns what it returns then',
    async (way) => {
      const { tasks, topic } = fixture
      const task = { ...(await ended('a', success().withValue('"former"'))), identifier: 'a' }
      const other = await ended('other', success().withValue('"other"'))
      await fixture.commit(async (transaction) => {
        if (way === 'reset') await tasks.recreate(transaction, topic, 'reset', [task])
        if (way === 'redrive') await tasks.redrive(transaction, topic, { states: ['succeeded'], to: task.sequence })
        if (way === 'reassign') await tasks.reassign(transaction, topic, new Map([[task, 'suspension']]))
        if (way === 'reassignAll')
          await tasks.reassignAll(transaction, topic, { from: 'succeeded', to: 'suspension', last: task.sequence })
      })
      expect(await endingOf(task)).toMatchObject({ ended: false, value: undefined })
      if (way === 'reassign' || way === 'reassignAll')
        await fixture.commit((transaction) => tasks.recreate(transaction, topic, 'reset', [task]))
      await fixture.complete(await fixture.poll(1), success().withValue('"new"'))
      expect((await endingsOf(task, other)).map((ending) => ending?.value)).toEqual(['"new"', '"other"'])
    },
  )

  test('a value goes with its task, and no other does', async () => {
    const { tasks, topic } = fixture
    const gone = await ended('gone', success().withValue('"gone"'))
    const kept = await ended('kept', success().withValue('"kept"'))
    const last = await ended('last', success().withValue('"last"'))
    await fixture.commit((transaction) => tasks.purge(transaction, topic, { identifier: 'gone' }))
    await fixture.commit((transaction) => tasks.purge(transaction, topic, { identifier: 'last' }))
    expect((await endingsOf(gone, kept, last)).map((ending) => ending?.value)).toEqual([undefined, '"kept"', undefined])
  })

  test('a value of a rolled back completion is not kept', async () => {
    const [task] = await fixture.push('a')
    const [held] = await fixture.poll(1)
    const decisions = new Map([[held!, success().withValue('"first"')]])
    await expect(
      fixture.commit(async (transaction) => {
        await fixture.tasks.complete(transaction, fixture.topic, decisions)
        throw new Error('rolled back')
      }),
    ).rejects.toThrow('rolled back')
    await fixture.complete([held!], success().withValue('"second"'))
    expect(await endingOf(task!)).toMatchObject({ value: '"second"' })
  })

  test('what is no task is refused by name', async () => {
    const ask = (tasks: unknown): Promise<unknown> =>
      codeOf(() => fixture.commit((transaction) => fixture.tasks.endings(transaction, tasks as TaskKey[])))
    for (const wrong of [
      undefined,
      7,
      {},
      [undefined],
      [{ topic: '', sequence: 1 }],
      [{ topic: 'a' }],
      [{ topic: 'a', sequence: 0.5 }],
    ])
      expect(await ask(wrong)).toBe('ARGUMENT_INVALID')
  })
})
