/** Every verb with a filter selects the same tasks, to the millisecond and to the last sequence. */
import { TaskDecision } from '@taskstream/task-api'
import type {
  CountOptions,
  FilterState,
  HeldTask,
  PageOptions,
  RecreatedTask,
  RevivableState,
  TaskCount,
  TaskFilter,
  TaskInfo,
  TaskResult,
} from '@taskstream/task-api'
import { testClock } from '../test-clock.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { part } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'
import { openFixture, whileTested } from './fixture.ts'

const start = new Date('2026-01-01T00:00:00.000Z')
const at = (ms: number): Date => new Date(start.getTime() + ms)
const revivable: readonly RevivableState[] = ['expired', 'failed', 'suspended', 'delayed', 'filtered', 'succeeded']
type Counts = ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>

export const filters: Part = part('a filter', (engine) => {
  const clock = testClock(start)
  const fixture = whileTested(() => openFixture(engine, clock.now))
  let rows: readonly TaskInfo[]
  /**
   * Pushes five tasks at 1 to 5 ms and completes three of them at 13, 12 and 11 ms. The second identifier has tasks in another
   * topic too.
   */
  beforeAll(async () => {
    await fixture.push('b')
    await fixture.nextTopic({ keyed: true })
    for (const [index, identifier] of ['a', 'b', 'a', 'b', 'a'].entries()) {
      clock.set(at(index + 1))
      await fixture.push({ identifier, input: String(index + 1), reference: index % 3 === 0 ? 'r' : 's' })
    }
    const [first, second, third] = (await fixture.poll(3)) as [HeldTask, HeldTask, HeldTask]
    clock.set(at(11))
    await fixture.complete([third], TaskDecision.failure().because('terminated'))
    clock.set(at(12))
    await fixture.complete([second])
    clock.set(at(13))
    await fixture.complete([first], TaskDecision.failure().because('cancelled'))
    rows = await fixture.page()
  })

  const inputs = (tasks: readonly { readonly sequence: number }[]): string[] =>
    tasks.map(({ sequence }) => rows.find((row) => row.sequence === sequence)?.input ?? '?')
  const sequence = (input: number): number => rows[input - 1]!.sequence
  const pageIn = async (transaction: AnyTransaction, options: PageOptions = {}): Promise<TaskInfo[]> =>
    fixture.tasks.page(transaction, fixture.topic, options)
  const page = (options: PageOptions): Promise<TaskInfo[]> => fixture.commit((transaction) => pageIn(transaction, options))
  /** Runs `work` and rolls it back, because all tests of this part share the same rows. */
  const undone = async (work: (transaction: AnyTransaction) => Promise<void>): Promise<void> => {
    const undo = new Error('undo')
    const doing = fixture.commit(async (transaction) => {
      await work(transaction)
      throw undo
    })
    await doing.catch((error: unknown) => {
      if (error !== undo) throw error
    })
  }

  /** Each filter with the inputs of the tasks that it selects. */
  const filters: readonly (readonly [name: string, filter: () => TaskFilter, meant: string])[] = [
    ['nothing', () => ({}), '12345'],
    ['createdFrom', () => ({ createdFrom: at(2) }), '2345'],
    ['createdBefore', () => ({ createdBefore: at(2) }), '1'],
    ['one millisecond of pushes', () => ({ createdFrom: at(2), createdBefore: at(3) }), '2'],
    ['completedFrom', () => ({ completedFrom: at(12) }), '12'],
    ['completedBefore', () => ({ completedBefore: at(12) }), '3'],
    ['changedBefore', () => ({ changedBefore: at(12) }), '345'],
    ['changedBefore, of tasks that were never completed', () => ({ changedBefore: at(5) }), '4'],
    ['one millisecond of completions', () => ({ completedFrom: at(12), completedBefore: at(13) }), '2'],
    ['no time at all', () => ({ completedFrom: at(12), completedBefore: at(12) }), ''],
    ['from', () => ({ from: sequence(2) }), '2345'],
    ['to', () => ({ to: sequence(2) }), '12'],
    ['one sequence', () => ({ from: sequence(2), to: sequence(2) }), '2'],
    ['identifier', () => ({ identifier: 'a' }), '135'],
    ['reference', () => ({ reference: 'r' }), '14'],
    ['reason', () => ({ reason: 'terminated' }), '3'],
    ['states', () => ({ states: ['failed', 'ready'] }), '1345'],
    ['one state', () => ({ states: ['failed'] }), '13'],
    ['no state', () => ({ states: [] }), ''],
    ['identifier and reference', () => ({ identifier: 'a', reference: 's' }), '35'],
    ['states and completedBefore', () => ({ states: ['failed'], completedBefore: at(13) }), '3'],
    ['from and completedFrom', () => ({ from: sequence(2), completedFrom: at(11) }), '23'],
    ['createdFrom and completedFrom', () => ({ createdFrom: at(2), completedFrom: at(12) }), '2'],
    ['everything', () => ({ ...onlyFirst(), to: sequence(1) }), '1'],
    ['everything, and one that is not met', () => ({ ...onlyFirst(), from: sequence(2) }), ''],
  ]
  const onlyFirst = (): TaskFilter => ({
    states: ['failed'],
    identifier: 'a',
    reference: 'r',
    reason: 'cancelled',
    createdFrom: at(1),
    createdBefore: at(2),
    completedFrom: at(13),
    completedBefore: at(14),
    changedBefore: at(14),
  })

  describe.each(filters)('by %s', (_name, filter, meant) => {
    const ended = [...meant].filter((input) => Number(input) <= 3)

    test('means the same tasks to a page, whichever way it goes', async () => {
      expect(inputs(await page(filter()))).toEqual([...meant])
      expect(inputs(await page({ ...filter(), before: Number.MAX_SAFE_INTEGER }))).toEqual([...meant].toReversed())
      expect(inputs(await page({ ...filter(), after: sequence(1) }))).toEqual([...meant].filter((input) => input > '1'))
      expect(inputs(await page({ ...filter(), before: sequence(4) }))).toEqual(
        [...meant].filter((input) => input < '4').toReversed(),
      )
      expect(inputs(await page({ ...filter(), size: 1 }))).toEqual([...meant].slice(0, 1))
    })

    test('means the same tasks to a count, of all and of the latest of each identifier', async () => {
      const count = async (options: CountOptions): Promise<Record<string, TaskCount>> => {
        const { topic } = fixture
        const counts = await fixture.commit<Counts>((transaction) => fixture.tasks.count(transaction, { topic, ...options }))
        expect([...counts.keys()]).toEqual([topic])
        return Object.fromEntries(counts.get(topic)!)
      }
      expect(await count(filter())).toEqual(countOf(rows.filter(({ input }) => meant.includes(input!))))
      const { states, ...rest } = filter()
      const others = await page(rest)
      const latest = others.filter(
        ({ identifier, sequence: one }) => !others.some((other) => other.identifier === identifier && other.sequence > one),
      )
      expect(await count({ ...filter(), recent: true })).toEqual(
        countOf(latest.filter(({ state }) => states?.includes(state) ?? true)),
      )
    })

    test('means the same tasks to a purge', () =>
      undone(async (transaction) => {
        const { states = ['failed', 'succeeded', 'ready'], ...rest } = filter()
        expect(await fixture.tasks.purge(transaction, fixture.topic, { ...rest, states })).toBe(meant.length)
        expect(inputs(await pageIn(transaction))).toEqual(['1', '2', '3', '4', '5'].filter((input) => !meant.includes(input)))
      }))

    test('means the same tasks to a redrive, of what has ended', () =>
      undone(async (transaction) => {
        const { states, ...rest } = filter()
        const options = { ...rest, states: (states?.filter((state) => state !== 'ready') as RevivableState[]) ?? revivable }
        const redrive = (dryRun: boolean): unknown => fixture.tasks.redrive(transaction, fixture.topic, { ...options, dryRun })
        const [first, last] = [ended[0], ended.at(-1)].map((input) => input && { sequence: sequence(Number(input)) })
        const expected = { count: ended.length, ...(first && last && { first: first.sequence, last: last.sequence }) }
        expect(await redrive(true)).toEqual(expected)
        expect(await pageIn(transaction)).toEqual(rows)
        expect(await redrive(false)).toEqual(expected)
        expect(inputs(await pageIn(transaction, { states: ['failed', 'succeeded'] }))).toEqual(
          ['1', '2', '3'].filter((input) => !ended.includes(input)),
        )
      }))

    test('means the same tasks to a selection that is recreated', () =>
      undone(async (transaction) => {
        const { states, ...rest } = filter()
        const made: RecreatedTask[] = []
        for (const state of ['failed', 'succeeded'] as const) {
          if (states && !states.includes(state)) continue
          const selection = { ...rest, state, size: 9 }
          made.push(...(await fixture.tasks.recreate(transaction, fixture.topic, 'reset', selection)))
        }
        expect(inputs(made.map(({ from }) => from)).toSorted()).toEqual(ended)
      }))
  })

  test('of a count means the latest of each identifier in each topic by itself', async () => {
    const all = await fixture.commit<Counts>((transaction) => fixture.tasks.count(transaction, { recent: true }))
    const other = fixture.topic.replace(/\d+/, (number) => String(Number(number) - 1))
    expect(Object.fromEntries(all.get(fixture.topic)!)).toEqual({ ready: { count: 2, bound: sequence(5) } })
    expect(Object.fromEntries(all.get(other)!)).toEqual({ ready: { count: 1, bound: expect.any(Number) as number } })
  })

  test('of results means what ended in that time, both instants included', async () => {
    // None of these has ended with a result: a task that will be retried, a task that was only pushed, and an expired task.
    await fixture.push({ identifier: 'c', suspended: true }, { identifier: 'd', delayMs: 5 })
    await fixture.complete(await fixture.poll(1), TaskDecision.retry({ afterMs: 1 }))
    const results = async (from?: number, to?: number): Promise<Record<string, number>> => {
      const options = { ...(from !== undefined && { from: at(from) }), ...(to !== undefined && { to: at(to) }) }
      const all = await fixture.commit<ReadonlyMap<string, ReadonlyMap<TaskResult, number>>>((transaction) =>
        fixture.tasks.results(transaction, options),
      )
      return Object.fromEntries(all.get(fixture.topic)!)
    }
    expect(await results()).toEqual({ failure: 2, success: 1 })
    expect(await results(12, 12)).toEqual({ success: 1 })
    expect(await results(12)).toEqual({ failure: 1, success: 1 })
    expect(await results(undefined, 12)).toEqual({ failure: 1, success: 1 })
    expect(await results(14)).toEqual({})
  })

  const countOf = (tasks: readonly TaskInfo[]): Record<string, TaskCount> => {
    const counts: Record<string, TaskCount> = {}
    for (const { state, sequence: bound } of tasks) counts[state] = { count: (counts[state]?.count ?? 0) + 1, bound }
    return counts
  }
})
