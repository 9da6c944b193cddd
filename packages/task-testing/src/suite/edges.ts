/**
 * The limits of arguments: an empty argument does nothing, the least and the greatest values are accepted, values beyond them are
 * refused.
 */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TopicOverview } from '@taskstream/task-api'
import { beforeEach, expect, test } from 'vitest'
import { codeOf, names, useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'

export const edges: Part = part('at the edge of what is taken', (engine) => {
  const fixture = useFixture(engine, { topic: { keyed: true } })
  const commit = <Result>(work: (transaction: AnyTransaction, topic: string) => unknown): Promise<Result> =>
    fixture.commit<Result>(async (transaction) => (await work(transaction, fixture.topic)) as Result)
  let held: HeldTask
  beforeEach(async () => {
    await fixture.push('held', 'ready')
    held = (await fixture.poll(1))[0]!
  })

  const none: readonly HeldTask[] = []
  const ofNothing: Readonly<Record<string, readonly [(transaction: AnyTransaction, topic: string) => unknown, unknown]>> = {
    push: [(transaction, topic) => fixture.tasks.push(transaction, topic, []), []],
    poll: [(transaction, topic) => fixture.tasks.poll(transaction, topic, { size: 0 }), []],
    complete: [(transaction, topic) => fixture.tasks.complete(transaction, topic, new Map()), { completed: [], lost: [] }],
    hold: [(transaction, topic) => fixture.tasks.hold(transaction, topic, none), { held: [], lost: [] }],
    handBack: [(transaction, topic) => fixture.tasks.handBack(transaction, topic, none), { completed: [], lost: [] }],
    recreate: [(transaction, topic) => fixture.tasks.recreate(transaction, topic, 'append', none), []],
    reassign: [(transaction, topic) => fixture.tasks.reassign(transaction, topic, new Map()), undefined],
    cancel: [(transaction, topic) => fixture.tasks.cancel(transaction, topic, []), { cancelled: [], taken: [] }],
    reschedule: [(transaction, topic) => fixture.tasks.reschedule(transaction, topic, [], { delayMs: 5 }), []],
    junction: [(transaction, topic) => fixture.tasks.junction(transaction, topic, 'singular', []), new Set()],
    page: [(transaction, topic) => fixture.tasks.page(transaction, topic, { size: 0 }), []],
    'page before the first': [(transaction, topic) => fixture.tasks.page(transaction, topic, { before: 0 }), []],
    'task that no sequence has': [(transaction, topic) => fixture.tasks.task(transaction, topic, 0), undefined],
    purge: [(transaction, topic) => fixture.tasks.purge(transaction, topic, { states: [] }), 0],
    redrive: [(transaction, topic) => fixture.tasks.redrive(transaction, topic, { states: [] }), { count: 0 }],
    promoteDue: [(transaction, topic) => fixture.tasks.promoteDue(transaction, topic), { promoted: 0 }],
    'reassignAll to the same': [
      (transaction, topic) => fixture.tasks.reassignAll(transaction, topic, { from: 'failed', to: 'failure' }),
      0,
    ],
    'reassignAll of a range that is none': [
      (transaction, topic) => fixture.tasks.reassignAll(transaction, topic, { from: 'failed', to: 'success', first: 2, last: 1 }),
      0,
    ],
    'reassignAll of a range that has nobody': [
      (transaction, topic) => fixture.tasks.reassignAll(transaction, topic, { from: 'failed', to: 'success', first: 0, last: 0 }),
      0,
    ],
  }
  test.each(Object.keys(ofNothing))('nothing is asked for and nothing done: %s', async (name) => {
    const before = await fixture.page()
    const [verb, answer] = ofNothing[name]!
    expect(await commit(verb)).toEqual(answer)
    expect(await fixture.page()).toEqual(before)
  })

  test('what is held and is all that a reclaim knows stays held, and what it does not know is handed back', async () => {
    const reclaim = (known: readonly HeldTask[]): Promise<number> =>
      commit<number>((transaction, topic) => fixture.tasks.reclaim(transaction, topic, known))
    expect(await reclaim([held])).toBe(0)
    expect(await fixture.states()).toEqual({ active: 1, ready: 1 })
    expect(await reclaim([])).toBe(1)
    expect(await fixture.states()).toEqual({ ready: 2 })
  })

  test('a page after none is the first, and one before is told backwards', async () => {
    const page = async (options: object): Promise<string[]> =>
      names(await commit<HeldTask[]>((transaction, topic) => fixture.tasks.page(transaction, topic, options)))
    expect(await page({ after: 0 })).toEqual(['held', 'ready'])
    expect(await page({ after: held.sequence })).toEqual(['ready'])
    expect(await page({ before: held.sequence + 1 })).toEqual(['held'])
  })

  test('a range of one task is of that task', async () => {
    await fixture.complete([held], TaskDecision.failure())
    const { sequence } = held
    const reassignAll = (first: number, last: number): Promise<number> =>
      commit<number>((transaction, topic) =>
        fixture.tasks.reassignAll(transaction, topic, { from: 'failed', to: 'success', first, last }),
      )
    expect([await reassignAll(0, sequence - 1), await reassignAll(sequence + 1, Number.MAX_SAFE_INTEGER)]).toEqual([0, 0])
    expect(await reassignAll(sequence, sequence)).toBe(1)
  })

  test('one is the least that can be asked for', async () => {
    const limits: readonly ((transaction: AnyTransaction, topic: string, least: number) => unknown)[] = [
      (transaction, topic, limit) => fixture.tasks.promoteDue(transaction, topic, { limit }),
      (transaction, topic, limit) => fixture.tasks.purge(transaction, topic, { limit }),
      (transaction, topic, limit) => fixture.tasks.redrive(transaction, topic, { limit }),
      (transaction, topic, size) => fixture.tasks.recreate(transaction, topic, 'append', { state: 'failed', size }),
      (transaction, _topic, limit) => fixture.tasks.expire(transaction, { olderThanMs: 60_000, limit }),
      (transaction, _topic, limit) => fixture.tasks.overview(transaction, { limit }),
    ]
    for (const verb of limits) {
      await commit((transaction, topic) => verb(transaction, topic, 1))
      expect(await codeOf(() => commit((transaction, topic) => verb(transaction, topic, 0)))).toBe('ARGUMENT_INVALID')
    }
  })

  test('an overview counts up to a million, and no further', async () => {
    const overview = (limit: number): Promise<TopicOverview[]> =>
      commit<TopicOverview[]>((transaction) => fixture.tasks.overview(transaction, { limit }))
    expect((await overview(1)).find(({ topic }) => topic === fixture.topic)).toMatchObject({ active: 1, ready: 1 })
    await overview(1_000_000)
    expect(await codeOf(() => overview(1_000_001))).toBe('ARGUMENT_INVALID')
  })

  test('a task is given a result, and nothing else', async () => {
    await fixture.complete([held], TaskDecision.failure())
    const reassign = (result: string): Promise<unknown> =>
      commit((transaction, topic) => fixture.tasks.reassign(transaction, topic, new Map([[held, result as 'success']])))
    await expect(reassign('succeeded')).rejects.toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'result' } })
    expect(await fixture.states()).toEqual({ failed: 1, ready: 1 })
    await reassign('success')
    expect(await fixture.states()).toEqual({ succeeded: 1, ready: 1 })
  })

  test('what is no task at all is refused by its name', async () => {
    const nobody = null as unknown as HeldTask
    for (const verb of [
      (transaction: AnyTransaction, topic: string) => fixture.tasks.hold(transaction, topic, [nobody]),
      (transaction: AnyTransaction, topic: string) => fixture.tasks.recreate(transaction, topic, 'append', [nobody]),
      (transaction: AnyTransaction, topic: string) => fixture.tasks.recreate(transaction, topic, 'append', null as never),
      (transaction: AnyTransaction, topic: string) => fixture.tasks.recreate(transaction, topic, 'append', 'all' as never),
      (transaction: AnyTransaction, topic: string) => fixture.tasks.task(transaction, topic, nobody as never),
    ])
      expect(await codeOf(() => commit(verb))).toBe('ARGUMENT_INVALID')
  })
})
