/** A node says why it takes no tasks, so that the probe of an orchestrator has an answer. */
import { TaskError } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { Hearing } from '../../packages/task-processor/src/worker/hearing.ts'
import { canRun } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const aDay = 86_400_000

describe.skipIf(!canRun)('a node that is asked why it takes no tasks', () => {
  const fixture = useNodeFixture('troubles')

  test('names its start, what the database refuses, its lease and its stop, and nothing while it takes tasks', async () => {
    let isAway = false
    const { node, pass } = fixture.clocked({
      heartbeatIntervalMs: 1_000,
      leaseMs: 10_000,
      maintenanceIntervalMs: aDay,
      transactions: async (work) => {
        if (isAway) throw new TaskError('DATABASE_UNAVAILABLE', 'the database is away')
        return fixture.commit(work)
      },
    })
    const told = (): readonly string[] => {
      pass(500)
      return node.troubles.toSorted()
    }
    node.process(fixture.topic, { idleMs: 500, handler: eachTask(() => {}) })
    expect(node.troubles).toEqual(['starting'])
    await node.start()
    expect(node.troubles).toEqual([])
    isAway = true
    await expect.poll(told).toEqual(['heartbeat', `poll ${fixture.topic}`])
    await expect.poll(told, { timeout: 20_000 }).toEqual(['heartbeat', 'lease', `poll ${fixture.topic}`])
    isAway = false
    await expect.poll(told, { timeout: 20_000 }).toEqual([])
    const stopping = node.stop()
    expect(node.troubles).toEqual(['stopping'])
    await stopping
  })

  test('says that somebody has asked it to be quiet', async () => {
    const { node, tasks, pass } = fixture.clocked({ heartbeatIntervalMs: aDay, leaseMs: 3 * aDay, maintenanceIntervalMs: 10_000 })
    await using _ = node
    node.process(fixture.topic, { idleMs: 1_000, handler: eachTask(() => {}) })
    await node.start()
    for (const quiet of [true, false]) {
      // Whoever has not told anything yet cannot be asked.
      await expect.poll(() => fixture.commit<boolean>((transaction) => tasks.quiet(transaction, node.owner, quiet))).toBe(true)
      const told = (): readonly string[] => {
        pass(5_000)
        return node.troubles
      }
      await expect.poll(told).toEqual(quiet ? ['quiet'] : [])
    }
  })

  test('tells others that a right is missing to write a task, until nothing has missed it for a whole span', () => {
    let news = 0
    const hearing = new Hearing(() => news++)
    const error = new TaskError('PERMISSION_DENIED', 'grant insert on task_attempt')
    const told = (): unknown => hearing.of('mail', true).error?.message
    hearing.onError({
      activity: 'complete',
      topic: 'mail',
      tasks: [],
      error: new Error('a text that the database does not take'),
    })
    expect(told()).toBeUndefined()
    hearing.onError({ activity: 'complete', topic: 'mail', tasks: [], error })
    expect([told(), news]).toEqual(['grant insert on task_attempt', 1])
    hearing.turn()
    expect(told()).toBe('grant insert on task_attempt')
    hearing.onError({ activity: 'complete', topic: 'mail', tasks: [], error })
    hearing.turn()
    hearing.turn()
    expect([told(), news]).toEqual([undefined, 2])
    expect(hearing.obstacles(() => true)).toEqual([])
  })

  test('names no poll of a topic that is no longer polled, and nothing that does not keep it from taking tasks', () => {
    const hearing = new Hearing(() => {})
    const error = new Error('away')
    hearing.onError({ activity: 'poll', topic: 'paused', error })
    hearing.onError({ activity: 'poll', topic: 'polled', error })
    hearing.onError({ activity: 'maintenance', error })
    hearing.onError({ activity: 'complete', topic: 'polled', error })
    hearing.onFatal({ topic: 'refused', error })
    expect(hearing.obstacles((topic) => topic === 'polled')).toEqual(['poll polled', 'process refused'])
  })
})
