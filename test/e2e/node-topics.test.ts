/** The topics of a node do not disturb each other, and are kept clean. */
import { TaskDecision } from '@taskstream/task-api'
import type { TaskError } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import type { TaskNode } from '@taskstream/task-processor'
import { raw, sql } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

describe.skipIf(!canRun)('the topics of a node', () => {
  const fixture = useNodeFixture('topics')
  const push = (...identifiers: string[]): Promise<unknown> => fixture.push(...identifiers)
  const states = (): Promise<Record<string, number>> => fixture.states()
  const nodeOf = (repository: Tasks = fixture.tasks): TaskNode<AnyTransaction> => fixture.nodeOf({ repository })

  test('handles one task of each identifier at a time in a topic with a condition, whatever its concurrency', async () => {
    fixture.turnTo(`${fixture.topic}-singular`)
    const running = new Map<string, number>()
    const handled: string[] = []
    let most = 0
    const handler = eachTask(async ({ identifier, input = '' }) => {
      running.set(identifier, (running.get(identifier) ?? 0) + 1)
      most = Math.max(most, running.get(identifier)!)
      await new Promise((resolve) => setImmediate(resolve))
      running.set(identifier, running.get(identifier)! - 1)
      handled.push(identifier + input)
    })
    const condition = 'singular-by-identifier' as const
    await using one = nodeOf()
    await using two = nodeOf(fixture.subject.tasks())
    for (const node of [one, two]) {
      node.process(fixture.topic, { condition, size: 7, concurrency: 3, handler, idleMs: 20 })
      await node.start()
    }
    const creations = Array.from({ length: 60 }, (_, index) => ({ identifier: 'abc'[index % 3]!, input: String(index) }))
    await fixture.commit((transaction) => fixture.tasks.push(transaction, fixture.topic, creations))
    await expect.poll(states).toEqual({ succeeded: 60 })
    expect(most).toBe(1)
    for (const identifier of 'abc') {
      const own = creations.filter((creation) => creation.identifier === identifier).map(({ input }) => identifier + input)
      expect(handled.filter((one) => one.startsWith(identifier))).toEqual(own)
    }
  })

  test('takes a topic as it is, and refuses to start where it was promised to be another', async () => {
    await fixture.commit((transaction) => fixture.tasks.initialize(transaction, `${fixture.topic}-lifo`, { order: 'lifo' }))
    const handler = eachTask(() => {})
    await using plain = nodeOf()
    plain.process(`${fixture.topic}-lifo`, { handler })
    await plain.start()
    await using other = nodeOf(fixture.subject.tasks())
    other.process(`${fixture.topic}-lifo`, { handler, order: 'priority' })
    await expect(other.start()).rejects.toMatchObject({ code: 'TOPIC_DIFFERENT' })
  })

  test('makes a topic known that it is given when it runs already', async () => {
    await using node = nodeOf()
    await node.start()
    fixture.turnTo(`${fixture.topic}-late`)
    node.process(fixture.topic, { order: 'lifo', handler: eachTask(() => {}), idleMs: 20 })
    await expect
      .poll(() =>
        push('a').then(
          () => true,
          () => false,
        ),
      )
      .toBe(true)
    await expect.poll(states).toEqual({ succeeded: 1 })
  })

  test('purges what has ended for long enough, state by state, and keeps the rest', async () => {
    await push('ok', 'no')
    await using node = nodeOf()
    const handler = eachTask(({ identifier }) => (identifier === 'ok' ? TaskDecision.success() : TaskDecision.failure()))
    node.process(fixture.topic, { handler, retainMs: { succeeded: 0, failed: 86_400_000 } })
    await node.start()
    await expect.poll(states).toEqual({ failed: 1 })
    for (const retainMs of [{ ready: 1 }, { succeeded: -1 }, { gone: 1 }])
      expect(() => node.process(`${fixture.topic}-x`, { handler, retainMs } as never)).toThrow(
        expect.objectContaining({ code: 'ARGUMENT_INVALID' }),
      )
  })

  test('purges nothing that waits for its time, however short suspended tasks are kept', async () => {
    await fixture.commit((transaction) =>
      fixture.tasks.push(transaction, fixture.topic, [
        { identifier: 'reminder', delayMs: 7 * 86_400_000 },
        { identifier: 'branch', suspended: true },
        'aside',
        'again',
      ]),
    )
    await using node = nodeOf()
    const handler = eachTask(({ identifier }) =>
      identifier === 'again' ? TaskDecision.retry({ afterMs: 86_400_000 }) : TaskDecision.suspension(),
    )
    node.process(fixture.topic, { handler, retainMs: { suspended: 0, failed: 0, expired: 0 } })
    await node.start()
    await expect.poll(states).toEqual({ delayed: 2 })
    expect(() => node.process(`${fixture.topic}-x`, { handler, retainMs: { delayed: 0 } } as never)).toThrow(
      expect.objectContaining({ code: 'ARGUMENT_INVALID', message: expect.stringContaining('delayed') }),
    )
  })

  test('goes on purging its other topics when one is destroyed, and tells of that once: by its polls', async () => {
    const errors: (string | undefined)[] = []
    await using node = fixture.nodeOf({
      listener: { onError: ({ activity, error }) => void errors.push(`${activity} ${(error as TaskError).code}`) },
    })
    const options = { handler: eachTask(() => {}), retainMs: { succeeded: 0 }, idleMs: 20 }
    node.process(fixture.topic, options)
    const other = `${fixture.topic}-other`
    node.process(other, options)
    await node.start()
    await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
    await expect.poll(() => errors).toEqual(['poll TOPIC_UNKNOWN'])
    fixture.turnTo(other)
    await push('a')
    await expect.poll(states).toEqual({})
    await node.stop()
    expect(errors).toEqual(['poll TOPIC_UNKNOWN'])
  })

  test('forgets owners that have been silent for days, and no others', async () => {
    const [gone, quiet] = [fixture.subject.tasks(), fixture.subject.tasks()]
    const table = raw(fixture.subject.engine === 'postgres' ? 'taskstream.task_owner' : 'task_owner')
    const longAgo = fixture.subject.engine === 'postgres' ? raw(`now() - interval '2 days'`) : raw('0')
    await fixture.commit(async (transaction) => {
      for (const owner of [gone, quiet]) await owner.register(transaction)
      await fixture.subject.execute(transaction, sql`update ${table} set heartbeat = ${longAgo} where owner = ${gone.owner}`)
    })
    await using node = nodeOf()
    node.process(fixture.topic, { handler: eachTask(() => {}) })
    await node.start()
    const known = (): Promise<unknown[]> =>
      fixture.commit(async (transaction) =>
        (await fixture.subject.execute(transaction, sql`select owner from ${table}`)).map(({ owner }) => owner),
      )
    await expect.poll(known).not.toContain(gone.owner)
    expect(await known()).toContain(quiet.owner)
  })

  test('do not run when they were stopped as soon as they were asked for', async () => {
    await using node = nodeOf()
    await node.start()
    const manager = node.process(`${fixture.topic}-stopped`, { handler: eachTask(() => {}) })
    await manager.stop()
    // When a topic that was added later runs, the node has ended all that it had begun for the stopped one.
    const other = node.process(`${fixture.topic}-later`, { handler: eachTask(() => {}) })
    await expect.poll(() => other.isActive).toBe(true)
    await push('later')
    expect(manager.isActive).toBe(false)
  })
})
