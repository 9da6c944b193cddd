/** Held tasks that no batch answers for any more are reported, and handed back as soon as the database can write this. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask, TaskState } from '@taskstream/task-api'
import { eachTask, unlimited } from '@taskstream/task-processor'
import type { TaskListener } from '@taskstream/task-processor'
import { afterEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import { refusal, refuse, results } from './refusals.ts'

const hour = 3_600_000
/** Nothing comes by itself: heartbeats, maintenance, and pauses wait for the test's clock. */
const patient = { heartbeatIntervalMs: 6 * hour, leaseMs: 48 * hour, maintenanceIntervalMs: 6 * hour }
const everything: readonly TaskState[] = ['ready', ...results]
const names = (tasks: readonly { readonly identifier: string }[]): string[] => tasks.map(({ identifier }) => identifier)
const succeedAll = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

describe.skipIf(!canRun)('a task of which nothing can be written', () => {
  const fixture = useNodeFixture('left')
  let refusing: AsyncDisposable | undefined
  const allow = async (): Promise<void> => {
    await refusing?.[Symbol.asyncDispose]()
    refusing = undefined
  }
  afterEach(allow)

  const refuseBad = async (states: readonly TaskState[], prefix = 'bad'): Promise<void> => {
    refusing = await refuse(fixture.subject, prefix, states)
  }
  /** Returns a listener that notes which activity failed, with which tasks, and how. */
  const hearing = (): TaskListener & { readonly told: [activity: string, tasks: string[], error: string][] } => {
    const told: [activity: string, tasks: string[], error: string][] = []
    return {
      told,
      onError: ({ activity, tasks = [], error }) => void told.push([activity, names(tasks), messageOf(error)]),
    }
  }
  const states = (): Promise<Record<string, number>> => fixture.states()
  const pushAround = (): Promise<unknown> => fixture.push('a', 'b', 'c', 'bad', 'd', 'e', 'f')

  test('stays held, and is reported as abandoned; its neighbours are completed', async () => {
    await pushAround()
    await refuseBad(everything)
    const listener = hearing()
    const node = fixture.nodeOf({ listener })
    node.process(fixture.topic, { concurrency: 1, handler: succeedAll })
    await node.start()
    await expect.poll(states).toEqual({ succeeded: 6, active: 1 })
    await expect.poll(() => listener.told.length).toBeGreaterThan(0)
    const report = await node.stop()
    expect(names(report.abandoned)).toEqual(['bad'])
    expect(listener.told[0]).toEqual(['complete', ['bad'], expect.stringContaining(refusal)])
    // The owner has left, so another node takes the task.
    await allow()
    await using other = fixture.nodeOf({ repository: fixture.subject.tasks() })
    other.process(fixture.topic, { handler: succeedAll })
    await other.start()
    await expect.poll(states).toEqual({ succeeded: 7 })
  })

  test('is handed back as soon as that can be written, and meanwhile the topic goes on', async () => {
    await pushAround()
    await refuseBad(everything)
    const handled: string[] = []
    await using node = fixture.nodeOf()
    node.process(fixture.topic, { idleMs: 20, handler: eachTask(({ identifier }) => void handled.push(identifier)) })
    await node.start()
    await expect.poll(states).toEqual({ succeeded: 6, active: 1 })
    await fixture.push('g')
    await expect.poll(states).toEqual({ succeeded: 7, active: 1 })
    await allow()
    await expect.poll(states).toEqual({ succeeded: 8 })
    expect(handled.filter((identifier) => identifier === 'bad')).toHaveLength(2)
  })

  test('is no longer left behind once its batch has written it, however late', async () => {
    let slow: PromiseWithResolvers<void> | undefined
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const handedBack: string[] = []
    const repository = fixture.subject.tasks()
    const { handBack } = repository
    Object.assign(repository, {
      handBack: (...args: Parameters<typeof handBack>) => {
        handedBack.push(...names([...args[2]]))
        return handBack(...args)
      },
    })
    await using node = fixture.nodeOf({
      ...patient,
      repository,
      transactions: async (work) => {
        await slow?.promise
        return fixture.commit(work)
      },
    })
    await fixture.push('a')
    const manager = node.process(fixture.topic, {
      idleMs: hour,
      handler: async (tasks) => {
        begun.resolve()
        await gate.promise
        return succeedAll(tasks)
      },
    })
    await node.start()
    await begun.promise
    slow = Promise.withResolvers()
    gate.resolve()
    const { abandoned } = await manager.stop({ graceMs: 0, abortMs: 0, leaveMs: 0 })
    expect(names(abandoned)).toEqual(['a'])
    slow.resolve()
    slow = undefined
    await expect.poll(states).toEqual({ succeeded: 1 })
    const before = handedBack.length
    await manager.start()
    expect(await manager.stop({ graceMs: 0, abortMs: 0 })).toEqual({ finished: [], returned: [], abandoned: [] })
    expect(handedBack.slice(before)).toEqual([])
  })

  test('counts as finished if the answer to its completion was lost, although it is ready to be tried again', async () => {
    let commits = 0
    const repository = fixture.subject.tasks()
    const { complete } = repository
    const gone = (): TaskError => new TaskError('DATABASE_UNAVAILABLE', 'gone')
    Object.assign(repository, {
      complete: (...args: Parameters<typeof complete>) => {
        if (commits++ > 0) throw gone()
        return complete(...args)
      },
    })
    const written = Promise.withResolvers<void>()
    const node = fixture.nodeOf({
      ...patient,
      repository,
      transactions: async (work) => {
        const before = commits
        const result = await fixture.commit(work)
        if (before === 1 || commits !== 1) return result
        written.resolve()
        throw gone()
      },
    })
    await fixture.push('a')
    node.process(fixture.topic, { concurrency: 1, handler: eachTask(() => TaskDecision.retry({ afterMs: 0 })) })
    await node.start()
    await written.promise
    const promote = (): Promise<unknown> =>
      fixture.commit((transaction) => fixture.subject.tasks().promoteDue(transaction, fixture.topic))
    await expect.poll(() => promote().then(states)).toEqual({ ready: 1 })
    const { finished, returned, abandoned } = await node.stop({ graceMs: 0, abortMs: 0 })
    expect([finished, returned, abandoned].map(names)).toEqual([['a'], [], []])
  })

  test('is handed back by a stop that can, and reported so', async () => {
    await pushAround()
    await refuseBad(everything)
    const listener = hearing()
    const { node } = fixture.clocked({ ...patient, listener })
    node.process(fixture.topic, { concurrency: 1, handler: succeedAll })
    await node.start()
    await expect.poll(states).toEqual({ succeeded: 6, active: 1 })
    await expect.poll(() => listener.told.length).toBeGreaterThan(0)
    await allow()
    const report = await node.stop()
    expect([names(report.returned), report.abandoned]).toEqual([['bad'], []])
    expect(await states()).toEqual({ succeeded: 6, ready: 1 })
  })

  test.each(['is stopped', 'has ended by itself'])('is handed back by the node when its topic %s', async (how) => {
    await pushAround()
    await refuseBad(everything)
    const broken = Promise.withResolvers<void>()
    let limited = false
    await using node = fixture.nodeOf({
      limiter: {
        acquire: (topic, signal) => {
          if (limited) throw new Error('nobody knows how many may run')
          return unlimited.acquire(topic, signal)
        },
      },
      listener: { onFatal: () => broken.resolve() },
    })
    const manager = node.process(fixture.topic, { concurrency: 1, idleMs: 20, handler: succeedAll })
    await node.start()
    await expect.poll(states).toEqual({ succeeded: 6, active: 1 })
    if (how === 'is stopped') expect(names((await manager.stop()).abandoned)).toEqual(['bad'])
    else {
      limited = true
      await broken.promise
      await manager.stop()
    }
    await allow()
    await expect.poll(states).toEqual({ succeeded: 6, ready: 1 })
    limited = false
    await manager.start()
    await expect.poll(states).toEqual({ succeeded: 7 })
  })

  test('costs no more statements than a few, where it is every task', async () => {
    await fixture.push(...Array.from({ length: 300 }, (_, index) => `bad ${index}`))
    await refuseBad(everything)
    let statements = 0
    const listener = hearing()
    const tasks = Object.create(fixture.tasks) as Tasks
    for (const verb of ['complete', 'handBack'] as const) {
      const { [verb]: own } = fixture.tasks
      tasks[verb] = ((...args: Parameters<typeof own>) => (
        statements++,
        (own as (...given: unknown[]) => unknown)(...args)
      )) as never
    }
    const { clock, node } = fixture.clocked({ ...patient, repository: tasks, listener })
    await using _ = node
    node.process(fixture.topic, { size: 300, concurrency: 1, handler: succeedAll })
    await fixture.commit((transaction) => tasks.register(transaction))
    await node.start()
    // An error is reported for every task, so the batch has ended.
    await expect.poll(() => listener.told.flatMap(([, some]) => some)).toHaveLength(300)
    await expect.poll(states).toEqual({ active: 300 })
    await allow()
    await expect.poll(() => (clock.advance(10_000), states())).toEqual({ succeeded: 300 })
    expect(statements).toBeLessThan(100)
  })

  test('does not keep its topic from being polled, where a poll has brought it whose commit nobody answered', async () => {
    await fixture.push('a', 'bad')
    let unanswered = false
    const { subject } = fixture
    const { clock, node } = fixture.clocked({
      ...patient,
      transactions: async (work) => {
        const result = await subject.transactions(work)
        if (Array.isArray(result) && result.length === 2 && !unanswered) {
          unanswered = true
          await refuseBad(everything)
          throw new TaskError('DATABASE_UNAVAILABLE', 'gone')
        }
        return result
      },
    })
    await using _ = node
    node.process(fixture.topic, { handler: succeedAll })
    await node.start()
    await expect.poll(() => refusing).toBeDefined()
    await fixture.push('b')
    await expect.poll(() => (clock.advance(1_000), states())).toEqual({ active: 2, succeeded: 1 })
    await allow()
    await expect.poll(() => (clock.advance(10_000), states())).toEqual({ succeeded: 3 })
  })

  test('nor is known of, as a poll has brought it whose commit nobody answered, is handed back when its topic is stopped', async () => {
    await fixture.push('a', 'b')
    let stopped: Promise<unknown> | undefined
    const { subject } = fixture
    await using node = fixture.nodeOf({
      transactions: async (work) => {
        const result = await subject.transactions(work)
        if (Array.isArray(result) && result.length === 2 && !stopped) {
          // The poll is committed, and its answer is lost.
          stopped = manager.stop()
          throw new TaskError('DATABASE_UNAVAILABLE', 'gone')
        }
        return result
      },
    })
    const manager = node.process(fixture.topic, { handler: succeedAll })
    await node.start()
    await expect.poll(() => stopped).toBeDefined()
    await stopped
    await expect.poll(states).toEqual({ ready: 2 })
    await manager.start()
    await expect.poll(states).toEqual({ succeeded: 2 })
  })
})

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
