/** Tasks wait for others, start when those have succeeded, and fail when one of them never will. */
import { TaskDecision, taskLimits } from '@taskstream/task-api'
import type { PromotedDue, Settlement, TaskDependency, TaskKey } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { useDependencyFixture } from './dependency-fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { codeOf, thrownBy } from './fixture.ts'

export const dependencies: Part = part('a task that needs others', (engine) => {
  const { clock, fixture, on, depend, blocked, settle, infoOf, needsOf, ended } = useDependencyFixture(engine)
  const { failure } = TaskDecision
  const nothing: Settlement = { started: 0, unreachable: 0 }

  test('is blocked until all of them have succeeded, and then starts', async () => {
    const [a, b] = await fixture.push('a', 'b')
    const task = await blocked('c', ...on(a!, b!))
    expect(await infoOf(task)).toMatchObject({ state: 'suspended', blocked: true })
    expect(await infoOf(task)).not.toHaveProperty('due')
    expect(await fixture.states()).toEqual({ ready: 2, blocked: 1 })
    expect(await settle()).toEqual(nothing)
    const [first, second] = await fixture.poll(3)
    await fixture.complete([first!])
    expect(await settle()).toEqual(nothing)
    await fixture.complete([second!])
    expect(await settle()).toEqual({ started: 1, unreachable: 0 })
    expect(await settle()).toEqual(nothing)
    const [held] = await fixture.poll(3)
    expect(held).toMatchObject({ identifier: 'c', tries: 1 })
    expect(await infoOf(task)).not.toHaveProperty('blocked')
  })

  test('starts at once if they have all succeeded before', async () => {
    await blocked('c', ...on(await ended('a'), await ended('b')))
    expect(await settle()).toEqual({ started: 1, unreachable: 0 })
  })

  test.each([
    ['failed', failure('broken'), 'has failed'],
    ['filtered', TaskDecision.filter(), 'was filtered'],
  ])('fails as unreachable if one of them has %s, before the others have ended', async (_, decision, words) => {
    const [a] = await fixture.push('a')
    await fixture.poll(1)
    const b = await ended('b', decision)
    const task = await blocked('c', ...on(a!, b))
    expect(await settle()).toEqual({ started: 0, unreachable: 1 })
    expect(await infoOf(task)).toMatchObject({
      state: 'failed',
      reason: 'unreachable',
      completed: clock.now(),
      output: `What it needs as "n1", task ${b.sequence} of topic "${fixture.topic}", ${words}`,
    })
    expect(await settle()).toEqual(nothing)
  })

  test('fails as unreachable if one of them is deleted, superseded, or was never there', async () => {
    const { tasks, commit, topic } = fixture
    const [a, b] = await fixture.push('a', 'b')
    const first = await blocked('c', ...on(a!))
    const second = await blocked('d', ...on(b!))
    const third = await blocked('e', ...on({ topic: 'nowhere', sequence: 0 }))
    await commit((transaction) => tasks.push(transaction, topic, 'a', { insertion: 'delete' }))
    await commit((transaction) => tasks.push(transaction, topic, 'b', { insertion: 'supersede' }))
    expect(await settle()).toEqual({ started: 0, unreachable: 3 })
    const outputs = await Promise.all([first, second, third].map(async (task) => (await infoOf(task))?.output))
    expect(outputs.map((output) => output!.split(', ')[2])).toEqual(['is not there', 'became redundant', 'is not there'])
  })

  test('does not mind what becomes of those that it tolerates, but waits for their end', async () => {
    const [a] = await fixture.push('a')
    await blocked('c', { ...on(a!)[0]!, tolerant: true }, { need: 'lost', on: { topic: 'nowhere', sequence: 0 }, tolerant: true })
    expect(await settle()).toEqual(nothing)
    await fixture.complete(await fixture.poll(1), failure())
    expect(await settle()).toEqual({ started: 1, unreachable: 0 })
  })

  test.each([
    ['waits for another try', TaskDecision.retry({ afterMs: 60_000 })],
    ['is suspended', TaskDecision.suspension()],
  ])('waits while one of them %s', async (_, decision) => {
    await blocked('c', ...on(await ended('a', decision)))
    expect(await settle()).toEqual(nothing)
  })

  test('makes those that need it unreachable in their turn, to the end of the line', async () => {
    const a = await ended('a', failure())
    let last = a
    for (const name of ['b', 'c', 'd']) last = await blocked(name, ...on(last))
    for (let line = 0; line < 3; line++) expect(await settle()).toEqual({ started: 0, unreachable: 1 })
    expect(await infoOf(last)).toMatchObject({ state: 'failed', reason: 'unreachable' })
  })

  test('is started or failed by promoteDue, which says when to look again as long as one is blocked', async () => {
    const { tasks, topic, commit } = fixture
    const promote = (): Promise<PromotedDue> => commit<PromotedDue>((transaction) => tasks.promoteDue(transaction, topic))
    expect(await promote()).toEqual({ promoted: 0 })
    await blocked('c', ...on(await ended('a')))
    expect(await promote()).toEqual({ promoted: 1, lookAgainMs: 1_000 })
    expect(await promote()).toEqual({ promoted: 0 })
    const [b] = await fixture.push({ identifier: 'b', delayMs: 400 })
    await blocked('d', ...on(b!))
    expect(await promote()).toEqual({ promoted: 0, nextDueMs: 400, lookAgainMs: expect.any(Number) as number })
    clock.advance(400)
    expect(await promote()).toEqual({ promoted: 1, lookAgainMs: expect.any(Number) as number })
  })

  test('that fails is told by promoteDue', async () => {
    const { tasks, topic, commit } = fixture
    await blocked('c', ...on(await ended('a', failure())))
    expect(await commit<PromotedDue>((transaction) => tasks.promoteDue(transaction, topic))).toEqual({
      promoted: 0,
      unreachable: 1,
      lookAgainMs: 1_000,
    })
  })

  test('that was started, and then suspended by its handler, may need others than before', async () => {
    const [b] = await fixture.push({ identifier: 'b', suspended: true })
    const task = await blocked('c', ...on(await ended('a')))
    await settle()
    await fixture.complete(await fixture.poll(1), TaskDecision.suspension())
    await depend(task, on(b!))
    expect(await needsOf(task)).toMatchObject([{ on: { sequence: b!.sequence } }])
    expect(await settle()).toEqual(nothing)
  })

  test.each(['9999-12-31T23:59:59.000Z', '9999-12-31T23:59:59.999Z'])('is not one that waits until %s', async (at) => {
    const { tasks, topic, commit } = fixture
    const due = new Date(at)
    const [pushed, rescheduled] = await fixture.push({ identifier: 'a', due }, 'b')
    await commit((transaction) => tasks.reschedule(transaction, topic, rescheduled!.sequence, { due }))
    expect(await settle()).toEqual(nothing)
    expect(await fixture.states()).toEqual({ delayed: 2 })
    for (const task of [pushed!, rescheduled!]) expect((await infoOf(task))?.due?.getUTCFullYear()).toBe(9999)
  })

  test('is settled by portions', async () => {
    const a = await ended('a')
    for (const name of ['c', 'd', 'e']) await blocked(name, ...on(a))
    expect(await settle(2)).toEqual({ started: 2, unreachable: 0 })
    expect(await settle(2)).toEqual({ started: 1, unreachable: 0 })
  })

  test('is not started by a rollback, and neither is what was blocked in one', async () => {
    const { tasks, topic, subject } = fixture
    await blocked('c', ...on(await ended('a')))
    await subject
      .transactions(async (transaction) => {
        await tasks.settle(transaction, topic)
        const [task] = await tasks.push(transaction, topic, { identifier: 'd', suspended: true })
        await tasks.depend(transaction, task!, on({ topic, sequence: 0 }))
        throw new Error('rolled back')
      })
      .catch(() => {})
    expect(await fixture.states()).toEqual({ succeeded: 1, blocked: 1 })
  })

  test('begins anew with all that it needs: once it is reset, or copied, and where the others were copied', async () => {
    const { tasks, topic, commit } = fixture
    const a = await ended('a', failure())
    const task = await blocked('c', ...on(a))
    await settle()
    const recreate = async (how: 'reset' | 'append', key: TaskKey): Promise<void> => {
      const found = (await infoOf(key))!
      await commit((transaction) => tasks.recreate(transaction, topic, how, [found]))
    }
    await recreate('reset', task)
    expect(await fixture.states()).toEqual({ failed: 1, blocked: 1 })
    expect(await settle()).toEqual({ started: 0, unreachable: 1 })
    await recreate('append', task)
    await recreate('append', a)
    expect(await fixture.states()).toEqual({ recreated: 2, ready: 1, blocked: 1 })
    expect(await settle()).toEqual(nothing)
    await fixture.complete(await fixture.poll(1))
    expect(await settle()).toEqual({ started: 1, unreachable: 0 })
  })

  test('keeps those that it needs from being purged until it has ended itself', async () => {
    const { tasks, topic, commit } = fixture
    const purge = (): Promise<number> => commit<number>((transaction) => tasks.purge(transaction, topic))
    await blocked('c', ...on(await ended('a')))
    const other = await ended('b')
    expect(await purge()).toBe(1)
    expect(await infoOf(other)).toBeUndefined()
    await settle()
    const held = await fixture.poll(1)
    expect(await purge()).toBe(0)
    await fixture.complete(held)
    expect(await purge()).toBe(2)
  })

  describe('is refused', () => {
    test('unless it is suspended, and blocked by nothing', async () => {
      const [ready, aside] = await fixture.push('a', { identifier: 'b', suspended: true })
      const needs = on({ topic: 'nowhere', sequence: 0 })
      expect(await codeOf(() => depend(ready!, needs))).toBe('TASK_STATE')
      expect(await codeOf(() => depend({ ...aside!, sequence: aside!.sequence + 1 }, needs))).toBe('TASK_STATE')
      await depend(aside!, needs)
      expect(await codeOf(() => depend(aside!, needs))).toBe('TASK_STATE')
      expect(await codeOf(() => depend({ topic: 'nowhere', sequence: 7 }, needs))).toBe('TOPIC_UNKNOWN')
      const { topic, sequence } = ready!
      expect(await thrownBy(() => depend({ topic, sequence }, needs))).toMatchObject({ data: { task: { topic, sequence } } })
    })

    test('if it needs itself, or what was pushed after it', async () => {
      const [task, later] = await fixture.push({ identifier: 'a', suspended: true }, 'b')
      const why = async (needed: TaskKey): Promise<string> => String(await thrownBy(() => depend(task!, on(needed))))
      expect(await why(task!)).toMatch(/must not be the task itself/)
      expect(await why(later!)).toMatch(/push what is needed first/)
      expect(await fixture.states()).toEqual({ suspended: 1, ready: 1 })
    })

    test('if it is no task, or if its needs are no list', async () => {
      const [task] = await fixture.push({ identifier: 'a', suspended: true })
      const needs = on({ topic: 'nowhere', sequence: 0 })
      for (const wrong of [undefined, null, {}, { topic: '', sequence: 1 }, { topic: fixture.topic, sequence: -1 }]) {
        expect(await codeOf(() => depend(wrong as TaskKey, needs))).toBe('ARGUMENT_INVALID')
        const asked = fixture.commit((transaction) =>
          thrownBy(() => fixture.tasks.dependencies(transaction, [task!, wrong as TaskKey])),
        )
        expect(await asked).toMatchObject({ code: 'ARGUMENT_INVALID' })
      }
      const asked = fixture.commit((transaction) => thrownBy(() => fixture.tasks.dependencies(transaction, 'x' as never)))
      expect(await asked).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'tasks' } })
      const many = Array.from({ length: taskLimits.batchSize + 1 }, () => task!)
      const tooMany = fixture.commit((transaction) => thrownBy(() => fixture.tasks.dependencies(transaction, many)))
      expect(await tooMany).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'the number of tasks' } })
      expect(await thrownBy(() => depend(task!, 'x' as never))).toMatchObject({ data: { argument: 'on' } })
      expect(await codeOf(() => depend(task!, [{ need: 'x' } as never]))).toBe('ARGUMENT_INVALID')
    })

    test.each([
      ['without any needs', []],
      ['with a need of no name', [{ need: '', on: { topic: 'a', sequence: 0 } }]],
      ['with a name that is too long', [{ need: 'x'.repeat(101), on: { topic: 'a', sequence: 0 } }]],
      ['with a need that is no task', [{ need: 'x', on: { topic: 'a' } }]],
      ['with a tolerance that is no boolean', [{ need: 'x', on: { topic: 'a', sequence: 0 }, tolerant: 1 }]],
      ['with needs that are no list', 'x'],
    ])('%s', async (_, needs) => {
      const [task] = await fixture.push({ identifier: 'a', suspended: true })
      expect(await codeOf(() => depend(task!, needs as unknown as TaskDependency[]))).toBe('ARGUMENT_INVALID')
    })
  })
})
