/** A node starts though not all of its topics can be processed, and says what became of each. */
import { TaskError } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

describe.skipIf(!canRun)('a node that starts', () => {
  const fixture = useNodeFixture('starting')

  test('is not kept from its other topics by one that cannot be processed, and says of each what became of it', async () => {
    const { topic } = fixture
    const fatal = new Map<string, unknown>()
    let isBroken = true
    await using node = fixture.nodeOf({ listener: { onFatal: ({ topic: of, error }) => void fatal.set(of, error) } })
    const handler = eachTask<AnyTransaction>(() => {})
    const broken = {
      open: () => {
        if (isBroken) throw new Error('cannot be opened')
        return { handle: handler }
      },
    }
    const first = node.process(`${topic}-broken`, { handler: broken })
    const different = node.process(topic, { handler, order: 'priority' })
    node.process(`${topic}-inactive`, { handler, activation: 'inactive' })
    node.process(`${topic}-good`, { handler })
    const { started, inactive, failed } = await node.start()
    expect([started, inactive]).toEqual([[`${topic}-good`], [`${topic}-inactive`]])
    expect([...failed]).toMatchObject([
      [`${topic}-broken`, { message: 'cannot be opened' }],
      [topic, { code: 'TOPIC_DIFFERENT' }],
    ])
    expect([...fatal]).toEqual([...failed])
    fixture.turnTo(`${topic}-good`)
    await fixture.push('a')
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    expect([first.isActive, different.isActive]).toEqual([false, false])
    // From here on the first topic can be opened. The other still has a different order.
    isBroken = false
    expect(await first.start()).toBe(true)
    await expect(different.start()).rejects.toMatchObject({ code: 'TOPIC_DIFFERENT' })
  })

  test('asks once what all of its topics are, and one by one only for those that are new or have options', async () => {
    const { topic } = fixture
    const names = Array.from({ length: 8 }, (_, index) => `${topic}-${index}`)
    await fixture.commit(async (transaction) => {
      for (const name of names) await fixture.tasks.initialize(transaction, name)
      await fixture.tasks.limit(transaction, names[0]!, { total: 1 })
    })
    const asked: string[] = []
    const { tasks } = fixture
    const repository: Tasks = {
      ...tasks,
      initialize: (...args: Parameters<Tasks['initialize']>) => (asked.push(`initialize ${args[1]}`), tasks.initialize(...args)),
      limits: (...args: Parameters<Tasks['limits']>) => (asked.push('limits'), tasks.limits(...args)),
      limit: (...args: Parameters<Tasks['limit']>) => (asked.push(`limit ${args[1]}`), tasks.limit(...args)),
    }
    await using node = fixture.nodeOf({ repository, maintenanceIntervalMs: 86_400_000 })
    let atOnce = 0
    let most = 0
    const handler = eachTask<AnyTransaction>(async () => {
      most = Math.max(most, ++atOnce)
      await new Promise((resolve) => setImmediate(resolve))
      atOnce--
    })
    for (const name of names) node.process(name, { handler, size: 1, concurrency: 3 })
    node.process(`${topic}-new`, { handler })
    node.process(`${topic}-limited`, { handler, limits: { total: 2 } })
    node.process(`${topic}-ordered`, { handler, order: 'priority' })
    const { started, failed } = await node.start()
    expect([started.length, failed.size]).toEqual([11, 0])
    const questions = Map.groupBy(asked, (question) => question)
    const limits = questions.get('limits')!.length
    questions.delete('limits')
    const own = ['initialize new', 'initialize limited', 'limit limited', 'initialize ordered']
    expect([...questions.keys()]).toEqual(own.map((question) => question.replace(' ', ` ${topic}-`)))
    // Once for all, once for each of two that are new, and once by maintenance.
    expect(limits).toBeLessThanOrEqual(4)
    // The limit that it has read is kept from the first poll on.
    fixture.turnTo(names[0]!)
    await fixture.push('a', 'b', 'c', 'd', 'e')
    await expect.poll(fixture.states).toEqual({ succeeded: 5 })
    expect(most).toBe(1)
  })

  test('and of which a topic cannot be processed warns of it, where nobody listens', async () => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    await using node = fixture.nodeOf()
    const broken = {
      open: () => {
        throw new Error('cannot be opened')
      },
    }
    node.process(fixture.topic, { handler: eachTask(() => {}) })
    node.process(`${fixture.topic}-broken`, { handler: broken })
    await node.start()
    expect((await warned).message).toMatch(/^Topic "starting-\d+-broken" is not processed: Error: cannot be opened/)
  })

  test('and runs already waits for a database that is away, to make a further topic known', async () => {
    const told: string[] = []
    let away = true
    const { node, clock } = fixture.clocked(
      {
        listener: {
          onError: ({ activity, topic }) => void told.push(`${activity} ${topic} failed`),
          onRecovered: ({ activity, topic }) => void told.push(`${activity} ${topic} recovered`),
        },
      },
      (own) => ({
        ...own,
        initialize: (...args: Parameters<Tasks['initialize']>) => {
          if (away) throw new TaskError('DATABASE_UNAVAILABLE', 'away')
          return own.initialize(...args)
        },
      }),
    )
    await using _ = node
    await node.start()
    const manager = node.process(fixture.topic, { handler: eachTask(() => {}) })
    await expect.poll(() => told).toEqual([`poll ${fixture.topic} failed`])
    away = false
    await expect.poll(() => (clock.advance(100), manager.isActive)).toBe(true)
    expect(told).toEqual([`poll ${fixture.topic} failed`, `poll ${fixture.topic} recovered`])
  })
})
