/** Which states of a timer's task keep the timer from submitting another: those that are not done. */
import { TaskDecision } from '@taskstream/task-api'
import type { FilterState, HeldTask } from '@taskstream/task-api'
import { beforeEach, expect, test } from 'vitest'
import { usePeriodicFixture } from './periodic-fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

export const periodicStates: Part = part('a timer whose tasks must not overlap', (engine) => {
  const fixture = usePeriodicFixture(engine)
  beforeEach(async () => {
    await fixture.fixture.nextTopic({ keyed: true })
  })

  const fireAt = (time: string): Promise<string[]> => {
    fixture.at(`2026-01-05T${time}:00.000Z`)
    return fixture.fireAll()
  }
  const end = async (decision: TaskDecision): Promise<HeldTask[]> => {
    const held = await fixture.fixture.poll()
    await fixture.fixture.complete(held, decision)
    return held
  }
  /** Brings the timer's only task into each state. */
  const states: Readonly<Record<FilterState, () => Promise<unknown>>> = {
    ready: () => Promise.resolve(),
    active: () => fixture.fixture.poll(),
    expired: async () => {
      const { tasks, commit } = fixture.fixture
      const rival = await fixture.fixture.owner()
      await fixture.fixture.poll(1, rival)
      await commit((transaction) => rival.unregister(transaction))
      await commit((transaction) => tasks.expire(transaction, { olderThanMs: 60_000 }))
    },
    suspended: () => end(TaskDecision.suspension()),
    delayed: () => end(TaskDecision.retry({ afterMs: 86_400_000 })),
    blocked: async () => {
      const { tasks, topic, commit } = fixture.fixture
      const [held] = await end(TaskDecision.suspension())
      await commit((transaction) => tasks.depend(transaction, held!, [{ need: 'x', on: { topic, sequence: 0 } }]))
    },
    failed: () => end(TaskDecision.failure()),
    filtered: () => end(TaskDecision.filter()),
    succeeded: () => end(TaskDecision.success()),
    recreated: async () => {
      const { tasks, topic, commit } = fixture.fixture
      const held = await end(TaskDecision.failure())
      await commit((transaction) => tasks.recreate(transaction, topic, 'append', held))
      // The successor would count as unfinished, so it is removed.
      await commit((transaction) => tasks.purge(transaction, topic, { states: ['ready'] }))
    },
    redundant: async () => {
      const { tasks, topic, commit } = fixture.fixture
      const [task] = await fixture.fixture.page()
      await commit((transaction) => tasks.push(transaction, topic, task!.identifier, { insertion: 'replace' }))
      await commit((transaction) => tasks.purge(transaction, topic, { states: ['ready'] }))
    },
  }
  const unfinished: ReadonlySet<FilterState> = new Set(['ready', 'active', 'expired', 'suspended', 'delayed', 'blocked'])

  test.each((Object.keys(states) as FilterState[]).map((state) => [state, unfinished.has(state)] as const))(
    'whose last task is %s waits for it: %s',
    async (state, waits) => {
      await fixture.schedule()
      expect(await fireAt('09:00')).toEqual(['submitted 09:00'])
      await states[state]()
      expect(await fixture.fixture.states()).toEqual({ [state]: 1 })
      const [task] = await fixture.fixture.page()
      const run = (): Promise<unknown> =>
        fixture.fixture.commit<unknown>((transaction) => fixture.timers.runNow(transaction, 'report'))
      if (waits) expect(await run()).toEqual({ unfinished: task!.sequence })
      expect(await fireAt('10:00')).toEqual([`${waits ? 'unfinished' : 'submitted'} 10:00`])
      const { fired, skipped } = await fixture.info()
      expect({ fired, skipped }).toEqual(waits ? { fired: 1, skipped: 1 } : { fired: 2, skipped: 0 })
    },
  )
})
