/** What an operator does to many tasks: previewed, in portions, recorded with what was before, and undone as far as nobody has touched it since. */
import { TaskDecision } from '@taskstream/task-api'
import type { TaskCreation, TaskInfo } from '@taskstream/task-api'
import {
  act,
  audit,
  destroyTopic,
  limitTopic,
  preview,
  push,
  runTimer,
  switchTimers,
  switchTopic,
  undo,
} from '@taskstream/task-operations'
import type { ActionRequest, Acted, Operator } from '@taskstream/task-operations'
import { periodicTasks } from '@taskstream/task-scheduler'
import { codeOf, useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'

describe.skipIf(!canRun)('actions of an operator', () => {
  // Each look at the clock is later than the one before, so nothing that happens after a preview has its instant.
  let at = Date.UTC(2026, 0, 1)
  const fixture = useFixture(engine, { clock: () => new Date((at += 1)) })
  const operator = (): Operator =>
    ({ tasks: fixture.tasks, transactions: fixture.subject.transactions, actor: 'kari', via: 'test' }) as unknown as Operator
  const many = (count: number): TaskCreation[] => Array.from({ length: count }, (_, index) => ({ identifier: `i${index}` }))
  /** Pushes tasks to a topic of their own, and has them fail. */
  const failed = async (count: number): Promise<string> => {
    await fixture.nextTopic()
    await fixture.push(...many(count))
    await fixture.complete(await fixture.poll(count), TaskDecision.failure(new RangeError('no')))
    return fixture.topic
  }
  const run = async (request: ActionRequest, options: object = {}): Promise<Acted> => {
    const { asOf, count, last } = await preview(operator(), request)
    return await act(operator(), request, { asOf, limit: count, ...(last !== undefined && { to: last }), ...options })
  }
  const facts = (tasks: readonly TaskInfo[]): unknown => tasks.map(({ owner: _owner, started: _started, ...task }) => task)

  test('are previewed exactly, by state, and at most twenty tasks are shown', async () => {
    const topic = await failed(25)
    await fixture.push(...many(3))
    const purge = await preview(operator(), { action: 'purge', topic, filter: { states: ['failed', 'ready'] } })
    expect(purge).toMatchObject({ count: 28, of: 28, states: { failed: 25, ready: 3 } })
    expect(purge.tasks).toHaveLength(20)
    expect(await preview(operator(), { action: 'redrive', topic }, { limit: 7 })).toMatchObject({ count: 7, of: 25 })
    const newest = await preview(operator(), { action: 'redrive', topic, try: 1 })
    expect(newest).toMatchObject({ count: 1, of: 25, tasks: [{ identifier: 'i24', state: 'failed', attempt: 1 }] })
    expect(await fixture.states()).toEqual({ failed: 25, ready: 3 })
    for (const wrong of [
      { action: 'redrive', topic, filter: { states: ['ready'] } },
      { action: 'cancel', topic, filter: { states: [] } },
      { action: 'reassign', topic, result: 'failure', filter: { states: ['failed'] } },
      { action: 'redrive', topic, named: [1], try: 1 },
      { action: 'redrive', topic, try: 0 },
    ] as unknown as ActionRequest[])
      expect(await codeOf(() => preview(operator(), wrong))).toBe('ARGUMENT_INVALID')
  })

  test('a purge counts no task that others need, and deletes none', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    const [parent, child] = await fixture.push('parent', { identifier: 'child', suspended: true }, 'other')
    const on = [{ need: 'parent', on: parent! }]
    await fixture.commit<unknown>((transaction) => fixture.tasks.depend(transaction, child!, on))
    await fixture.complete(await fixture.poll())
    const request: ActionRequest = { action: 'purge', topic, filter: { states: ['succeeded'] } }
    expect(await preview(operator(), request)).toMatchObject({ count: 1, tasks: [{ identifier: 'other' }] })
    const { id, count } = await run(request)
    expect(count).toBe(1)
    expect(await codeOf(() => undo(operator(), id!))).toBe('ACTION_FINAL')
    expect(await fixture.states()).toEqual({ succeeded: 1, blocked: 1 })
  })

  test('go on from one call to the next under one id, and are undone as one', async () => {
    const topic = await failed(2_300)
    const before = await fixture.commit<TaskInfo[]>((tx) => fixture.tasks.page(tx, topic, { size: 10_000 }))
    const request: ActionRequest = { action: 'redrive', topic }
    const { asOf, count } = await preview(operator(), request)
    let done = await act(operator(), request, { asOf, limit: count, portions: 1 })
    expect(done).toMatchObject({ count: 1_000, next: { portions: 1, done: 1_000 } })
    const { id } = done
    while (done.next) done = await act(operator(), request, { asOf, limit: count, portions: 1, after: done.next })
    expect(done).toMatchObject({ id, count: 2_300 })
    expect(await fixture.states()).toEqual({ ready: 2_300 })
    // Seven tasks run before somebody thinks better of it.
    const taken = await fixture.poll(7)
    expect(await undo(operator(), id!, { dryRun: true })).toMatchObject({ undone: 2_293, taken: 7 })
    expect(await fixture.states()).toEqual({ ready: 2_293, active: 7 })
    expect(await undo(operator(), id!, { portions: 1 })).toMatchObject({ hasMore: true, of: 300 })
    expect((await audit(operator(), { topic, limit: 2 })).map(({ action, undone }) => [action, undone])).toEqual([
      ['undo', 'no'],
      ['redrive', 'partly'],
    ])
    const rest = await undo(operator(), id!)
    expect(rest).toMatchObject({ action: 'redrive', topic, taken: 7, undone: 1_993, of: 2_000, hasMore: false, id: `${id}u` })
    await fixture.complete(taken)
    expect(await fixture.states()).toEqual({ failed: 2_293, succeeded: 7 })
    const after = await fixture.commit<TaskInfo[]>((tx) => fixture.tasks.page(tx, topic, { size: 10_000 }))
    expect(facts(after.slice(7))).toEqual(facts(before.slice(7)))
    expect(await audit(operator(), { topic })).toMatchObject([
      { action: 'undo', count: 2_293, undoes: id, portions: 3, actor: 'kari' },
      { id, action: 'redrive', count: 2_300, portions: 3, undone: 'yes' },
    ])
    expect(await codeOf(() => undo(operator(), id!))).toBe('ACTION_UNDONE')
    expect(await codeOf(() => undo(operator(), `${id}u`))).toBe('ACTION_FINAL')
    expect(await codeOf(() => undo(operator(), 'nowhere'))).toBe('ACTION_UNKNOWN')
  })

  test('are undone whole, however many portions they had', async () => {
    const many = 101
    const topic = await failed(many)
    const request: ActionRequest = { action: 'redrive', topic }
    const { asOf } = await preview(operator(), request)
    let { id, last } = await act(operator(), request, { asOf, limit: 1 })
    for (let portions = 1; portions < many; portions++) {
      const after = { id: id!, portions, done: portions, from: last! + 1 }
      ;({ id, last } = await act(operator(), request, { asOf, limit: portions + 1, after }))
    }
    expect(await fixture.states()).toEqual({ ready: many })
    expect(await undo(operator(), id!)).toMatchObject({ undone: many, hasMore: false })
    expect(await fixture.states()).toEqual({ failed: many })
  })

  test('go on only as what they were, by whom they were begun', async () => {
    const topic = await failed(3)
    const request: ActionRequest = { action: 'redrive', topic }
    const { asOf } = await preview(operator(), request)
    const { id } = await act(operator(), request, { asOf, limit: 1 })
    const goOn = (by: Operator, asked: ActionRequest, of = id!): Promise<unknown> =>
      codeOf(() => act(by, asked, { asOf, after: { id: of, portions: 1, done: 1 } }))
    expect(await goOn({ ...operator(), actor: 'ola' }, request)).toBe('ARGUMENT_INVALID')
    expect(await goOn(operator(), { action: 'reassign', topic, result: 'filter', filter: { states: ['failed'] } })).toBe(
      'ARGUMENT_INVALID',
    )
    const other = await failed(1)
    expect(await goOn(operator(), { action: 'redrive', topic: other })).toBe('ARGUMENT_INVALID')
    expect(await goOn(operator(), request, 'nowhere')).toBe('ACTION_UNKNOWN')
    expect(await goOn(operator(), request, '')).toBe('ARGUMENT_INVALID')
    expect(await fixture.states()).toEqual({ failed: 1 })
    // A portion that was recorded, and whose answer was lost, is no obstacle.
    await act(operator(), request, { asOf, limit: 2, after: { id: id!, portions: 1, done: 1 } })
    const last = await act(operator(), request, { asOf, limit: 3, after: { id: id!, portions: 1, done: 1 } })
    expect(last).toMatchObject({ id, count: 2 })
    expect(last.stopped).toBeUndefined()
    expect(await undo(operator(), id!)).toMatchObject({ undone: 3 })
  })

  test('of two operators at once do each task once, and what both undo is undone once', async () => {
    const topic = await failed(1_500)
    const [group] = await fixture.commit((tx) => fixture.tasks.errors(tx, { topic }))
    const request: ActionRequest = { action: 'redrive', topic, fingerprint: group!.fingerprint }
    const both = await Promise.all([run(request), run(request)])
    expect(both.map(({ stopped }) => stopped)).toEqual([undefined, undefined])
    expect(both[0]!.count + both[1]!.count).toBe(1_500)
    expect(await fixture.states()).toEqual({ ready: 1_500 })
    for (const { id } of both.filter(({ count }) => count > 0)) {
      const undone = await Promise.allSettled([undo(operator(), id!), undo(operator(), id!)])
      const counts = undone.map((one) => (one.status === 'fulfilled' ? one.value.undone : String(one.reason.code)))
      const numbers = counts.filter((count) => typeof count === 'number')
      expect(counts.filter((count) => typeof count === 'string').every((code) => code === 'ACTION_UNDONE')).toBe(true)
      expect(numbers.reduce((sum, count) => sum + count, 0)).toBe(both.find((one) => one.id === id)!.count)
    }
    expect(await fixture.states()).toEqual({ failed: 1_500 })
    const entries = (await audit(operator(), { topic })).filter(({ action }) => action === 'undo')
    expect(entries.reduce((sum, { count }) => sum + count, 0)).toBe(1_500)
  })

  test('leave neither a change without its record, nor a record without its change', async () => {
    const topic = await failed(3)
    const gone = new Error('the connection is gone')
    const breaking: Operator = {
      ...operator(),
      transactions: ((work: (transaction: unknown) => unknown) =>
        operator().transactions(async (transaction) => {
          await work(transaction)
          throw gone
        })) as Operator['transactions'],
    }
    const { asOf } = await preview(operator(), { action: 'redrive', topic })
    expect(await act(breaking, { action: 'redrive', topic }, { asOf })).toMatchObject({ count: 0, stopped: { error: gone } })
    expect(await fixture.states()).toEqual({ failed: 3 })
    expect(await audit(operator(), { topic })).toEqual([])
  })

  test('end after the portion that runs, and leave what has changed after the preview', async () => {
    const topic = await failed(30)
    const request: ActionRequest = { action: 'redrive', topic }
    const { asOf } = await preview(operator(), request)
    const stop = new AbortController()
    const options = { asOf, perSecond: 10, signal: stop.signal, onProgress: () => stop.abort() }
    const done = await act(operator(), request, options)
    expect(done).toMatchObject({ count: 10, stopped: {}, next: { done: 10 } })
    const [again] = await fixture.poll(1)
    await fixture.complete([again!], TaskDecision.failure('again'))
    expect(await act(operator(), request, { asOf, after: done.next! })).toMatchObject({ count: 30, id: done.id })
    expect(await fixture.states()).toEqual({ ready: 29, failed: 1 })
  })

  test('cancel, reschedule and reassign tasks, and undo it', async () => {
    await fixture.nextTopic({ keyed: true })
    const { topic } = fixture
    await fixture.push('a', { identifier: 'b', delayMs: 3_600_000 }, { identifier: 'c', suspended: true }, 'd')
    await fixture.complete(await fixture.poll(1), TaskDecision.failure('no'))
    const before = await fixture.page()
    const d = before[3]!.sequence
    for (const request of [
      { action: 'cancel', topic },
      { action: 'cancel', topic, named: [{ identifier: 'b' }, d] },
      { action: 'reschedule', topic, named: [[d, before[1]!.sequence]], to: { delayMs: 0, priority: 5 } },
      { action: 'reschedule', topic, filter: { identifier: 'd' }, to: { due: new Date('2099-01-01T00:00:00Z') } },
      { action: 'reassign', topic, filter: { states: ['failed'] }, result: 'success' },
    ] satisfies ActionRequest[]) {
      const { id, count } = await run(request as ActionRequest)
      expect(count).toBeGreaterThan(0)
      expect(await fixture.page()).not.toEqual(before)
      expect(await undo(operator(), id!)).toMatchObject({ undone: count, taken: 0, changed: 0 })
      // Which state a task has had is remembered, whatever was undone.
      expect((await fixture.page()).map(({ descent: _descent, ...task }) => task)).toEqual(
        before.map(({ descent: _descent, ...task }) => task),
      )
    }
  })

  test('push tasks, and take back those that no node has taken', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    const seen = await push(operator(), topic, many(3), true)
    expect(seen).toMatchObject({ tasks: [{ identifier: 'i0', outcome: 'created' }, {}, {}] })
    expect([seen.id, await fixture.states()]).toEqual([undefined, {}])
    const { id, tasks } = await push(operator(), topic, [...many(3), { identifier: 'late', delayMs: 3_600_000 }])
    const [taken] = await fixture.poll(1)
    await act(operator(), { action: 'cancel', topic, named: [tasks[1]!.sequence] }, { asOf: new Date() })
    expect(await undo(operator(), id!, { dryRun: true })).toMatchObject({ undone: 2, taken: 1, changed: 1 })
    expect(await undo(operator(), id!)).toMatchObject({ action: 'push', undone: 2, taken: 1, changed: 1 })
    expect(await fixture.states()).toEqual({ active: 1, filtered: 3 })
    expect(await codeOf(() => undo(operator(), id!))).toBe('ACTION_UNDONE')
    await fixture.complete([taken!])
  })

  test('say so where a task had succeeded, whose result is gone', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    await fixture.push('a')
    await fixture.complete(await fixture.poll())
    const { id } = await run({ action: 'redrive', topic, filter: { states: ['succeeded'] } })
    expect(await undo(operator(), id!)).toMatchObject({ undone: 0, lost: 1 })
    expect(await fixture.states()).toEqual({ ready: 1 })
  })

  test('pause a topic and change its limits, and undo it unless somebody has changed it since', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    const paused = await switchTopic({ ...operator(), note: 'the bank is down' }, topic, 'pause')
    expect(await switchTopic(operator(), topic, 'pause')).toEqual({ changed: false })
    expect(await undo(operator(), paused.id!)).toMatchObject({ action: 'pause', undone: 1 })
    expect(await switchTopic(operator(), topic, 'resume')).toEqual({ changed: false })
    const again = await switchTopic(operator(), topic, 'pause')
    await switchTopic(operator(), topic, 'resume')
    expect(await undo(operator(), again.id!)).toMatchObject({ undone: 0, changed: 1 })
    expect((await audit(operator())).find(({ id }) => id === again.id)).toMatchObject({ undone: 'no' })
    const limited = await limitTopic(operator(), topic, (limits) => ({ ...limits, total: 3 }))
    const more = await limitTopic(operator(), topic, (limits) => ({ ...limits, total: 4 }))
    expect(await undo(operator(), limited.id!)).toMatchObject({ undone: 0, changed: 1 })
    expect(await undo(operator(), more.id!)).toMatchObject({ undone: 1 })
    expect((await fixture.commit((tx) => fixture.tasks.limits(tx))).get(topic)).toEqual({ total: 3 })
    const { id } = await destroyTopic(operator(), topic)
    expect(await codeOf(() => undo(operator(), id!))).toBe('ACTION_FINAL')
  })

  test('pause and run timers, and undo it unless the task was taken', async () => {
    await fixture.nextTopic()
    const { topic } = fixture
    const scope = `scope of ${topic}`
    const timers = periodicTasks(fixture.tasks, { scope })
    await fixture.commit(async (tx) => {
      for (const id of ['one', 'two']) await timers.add(tx, { id, timer: 'yearly', topic })
    })
    const paused = await switchTimers(operator(), { scope }, 'pause')
    expect(paused.ids).toEqual(['one', 'two'])
    await switchTimers(operator(), { scope, ids: ['two'] }, 'resume')
    expect(await undo(operator(), paused.id!)).toMatchObject({ undone: 1, changed: 1 })
    const first = await runTimer(operator(), scope, 'one')
    expect(await undo(operator(), first.id!)).toMatchObject({ undone: 1 })
    const second = await runTimer(operator(), scope, 'two')
    await fixture.poll()
    expect(await undo(operator(), second.id!)).toMatchObject({ undone: 0, taken: 1 })
    expect(await fixture.states()).toEqual({ filtered: 1, active: 1 })
  })
})
