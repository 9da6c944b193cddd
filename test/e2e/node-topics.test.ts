import { TaskDecision } from '@taskstream/task-api'
import type { TaskCount, TaskState } from '@taskstream/task-api'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import type { TaskListener } from '@taskstream/task-processor'
import { raw, sql } from '@taskstream/task-sql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'

describe.skipIf(!canRun)('the topics of a node', () => {
  let subject: Subject
  let tasks: Tasks
  let topic = ''
  let count = 0
  beforeAll(async () => {
    subject = await openSubject()
  })
  afterAll(() => subject[Symbol.asyncDispose]())
  beforeEach(async () => {
    topic = `topics-${count++}`
    tasks = subject.tasks()
    await subject.transactions((transaction) => tasks.initialize(transaction, topic))
  })

  const push = (...identifiers: string[]): Promise<unknown> =>
    subject.transactions((transaction) => tasks.push(transaction, topic, identifiers))
  const states = async (): Promise<Record<string, number>> => {
    const counts = await subject.transactions<ReadonlyMap<string, ReadonlyMap<TaskState, TaskCount>>>((transaction) =>
      tasks.count(transaction, { topic }),
    )
    return Object.fromEntries([...(counts.get(topic) ?? [])].map(([state, { count }]) => [state, count]))
  }
  const nodeOf = (listener: TaskListener = {}, repository: Tasks = tasks): TaskNode<AnyTransaction> =>
    new TaskNode({
      repository,
      transactions: subject.transactions,
      heartbeatIntervalMs: 50,
      leaseMs: 10_000,
      maintenanceIntervalMs: 20,
      listener,
    })

  test('handles one task of each identifier at a time in a topic with a condition, whatever its concurrency', async () => {
    topic = `${topic}-singular`
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
    await using two = nodeOf({}, subject.tasks())
    for (const node of [one, two]) {
      node.process(topic, { condition, size: 7, concurrency: 3, handler, idleMs: 20 })
      await node.start()
    }
    const creations = Array.from({ length: 60 }, (_, index) => ({ identifier: 'abc'[index % 3]!, input: String(index) }))
    await subject.transactions((transaction) => tasks.push(transaction, topic, creations))
    await expect.poll(states).toEqual({ succeeded: 60 })
    expect(most).toBe(1)
    for (const identifier of 'abc') {
      const own = creations.filter((creation) => creation.identifier === identifier).map(({ input }) => identifier + input)
      expect(handled.filter((one) => one.startsWith(identifier))).toEqual(own)
    }
  })

  test('takes a topic as it is, and refuses to start where it was promised to be another', async () => {
    await subject.transactions((transaction) => tasks.initialize(transaction, `${topic}-lifo`, { order: 'lifo' }))
    const handler = eachTask(() => {})
    await using plain = nodeOf()
    plain.process(`${topic}-lifo`, { handler })
    await plain.start()
    await using other = nodeOf({}, subject.tasks())
    other.process(`${topic}-lifo`, { handler, order: 'priority' })
    await expect(other.start()).rejects.toMatchObject({ code: 'TOPIC_DIFFERENT' })
  })

  test('makes a topic known that it is given when it runs already', async () => {
    await using node = nodeOf()
    await node.start()
    topic = `${topic}-late`
    node.process(topic, { order: 'lifo', handler: eachTask(() => {}), idleMs: 20 })
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
    node.process(topic, { handler, retainMs: { succeeded: 0, failed: 86_400_000 } })
    await node.start()
    await expect.poll(states).toEqual({ failed: 1 })
    for (const retainMs of [{ ready: 1 }, { succeeded: -1 }, { gone: 1 }])
      expect(() => node.process(`${topic}-x`, { handler, retainMs } as never)).toThrow(
        expect.objectContaining({ code: 'ARGUMENT_INVALID' }),
      )
  })

  test('forgets owners that have been silent for days, and no others', async () => {
    const [gone, quiet] = [subject.tasks(), subject.tasks()]
    const table = raw(subject.engine === 'postgres' ? 'taskstream.task_owner' : 'task_owner')
    const longAgo = subject.engine === 'postgres' ? raw(`now() - interval '2 days'`) : raw('0')
    await subject.transactions(async (transaction) => {
      for (const owner of [gone, quiet]) await owner.register(transaction)
      await subject.execute(transaction, sql`update ${table} set heartbeat = ${longAgo} where owner = ${gone.owner}`)
    })
    await using node = nodeOf()
    node.process(topic, { handler: eachTask(() => {}) })
    await node.start()
    const known = (): Promise<unknown[]> =>
      subject.transactions(async (transaction) =>
        (await subject.execute(transaction, sql`select owner from ${table}`)).map(({ owner }) => owner),
      )
    await expect.poll(known).not.toContain(gone.owner)
    expect(await known()).toContain(quiet.owner)
  })
})
