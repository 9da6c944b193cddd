/** A node tells the database what it is and how it fares, so that people can look at it. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { NodeInfo } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const aDay = 86_400_000
const patient = { heartbeatIntervalMs: aDay, leaseMs: 3 * aDay, maintenanceIntervalMs: 10_000 }

describe.skipIf(!canRun)('a node', () => {
  const fixture = useNodeFixture('reporting')

  const infoOf = async (tasks: Tasks, owner: string): Promise<NodeInfo | undefined> => {
    const all = await fixture.commit<readonly NodeInfo[]>((transaction) => tasks.nodes(transaction))
    return all.find((node) => node.owner === owner)
  }

  test('is shown with its topics while it runs, and as stopped afterwards', async () => {
    const { node, tasks } = fixture.clocked(patient)
    node.process(fixture.topic, { size: 7, concurrency: 3, idleMs: aDay, handler: eachTask(() => {}) })
    await node.start()
    await expect
      .poll(() => infoOf(tasks, node.owner))
      .toMatchObject({
        life: 'living',
        quiet: false,
        report: {
          kind: 'node',
          pid: process.pid,
          leaseMs: patient.leaseMs,
          topics: [{ topic: fixture.topic, mode: 'leased', size: 7, concurrency: 3, busy: 0, ended: 0, failed: 0 }],
        },
      })
    await node.stop()
    expect(await infoOf(tasks, node.owner)).toMatchObject({ life: 'stopped', report: { stopped: true, topics: [] } })
  })

  test('tells how many attempts end and how many fail, for a minute', async () => {
    const { clock, node, tasks, pass } = fixture.clocked(patient)
    await using _ = node
    await fixture.push('a', 'b', 'c')
    node.process(fixture.topic, {
      idleMs: aDay,
      handler: eachTask(({ identifier }) => (identifier === 'b' ? TaskDecision.failure('no') : undefined)),
    })
    await node.start()
    await expect.poll(() => fixture.states()).toEqual({ succeeded: 2, failed: 1 })
    const told = async (): Promise<unknown> => {
      pass(10_000)
      return (await infoOf(tasks, node.owner))?.report?.topics
    }
    await expect.poll(told).toMatchObject([{ ended: 3, failed: 1 }])
    const from = clock.monotonicMs()
    await expect.poll(told).toMatchObject([{ ended: 0, failed: 0 }])
    expect(clock.monotonicMs() - from).toBeGreaterThan(20_000)
  })

  test('tells what does not work, without the password of an address, until it works again', async () => {
    let failing = true
    const { node, tasks, pass } = fixture.clocked(patient, (own) => ({
      ...own,
      poll: (...args: Parameters<Tasks['poll']>) => {
        if (failing) throw new TaskError('DATABASE_UNAVAILABLE', 'postgres://shop:se/cr@et@db-1/orders is gone')
        return own.poll(...args)
      },
    }))
    await using _ = node
    node.process(fixture.topic, { idleMs: 1_000, handler: eachTask(() => {}) })
    await node.start()
    const told = async (): Promise<unknown> => {
      pass(10_000)
      return (await infoOf(tasks, node.owner))?.report?.topics[0]?.error ?? 'nothing'
    }
    await expect.poll(told).toMatchObject({
      activity: 'poll',
      code: 'DATABASE_UNAVAILABLE',
      message: 'postgres://…@db-1/orders is gone',
    })
    failing = false
    await expect.poll(told).toBe('nothing')
  })

  test('that is asked to be quiet finishes what it has and takes no more, until it is asked to go on', async () => {
    const { node, tasks, pass } = fixture.clocked(patient)
    await using _ = node
    const gate = Promise.withResolvers<void>()
    const handled: string[] = []
    node.process(fixture.topic, {
      size: 1,
      concurrency: 1,
      idleMs: 1_000,
      handler: eachTask(async ({ identifier }) => {
        handled.push(identifier)
        if (identifier === 'a') await gate.promise
      }),
    })
    await fixture.push('a')
    await node.start()
    await expect.poll(() => handled).toEqual(['a'])
    await expect.poll(() => infoOf(tasks, node.owner)).toMatchObject({ report: { topics: [{ topic: fixture.topic }] } })
    const quiet = (value: boolean): Promise<boolean> =>
      fixture.commit<boolean>((transaction) => tasks.quiet(transaction, node.owner, value))
    expect(await quiet(true)).toBe(true)
    await fixture.push('b')
    const { reported } = (await infoOf(tasks, node.owner))!
    const isTold = async (): Promise<boolean> => {
      pass(10_000)
      return (await infoOf(tasks, node.owner))!.reported! > reported!
    }
    await expect.poll(isTold).toBe(true)
    gate.resolve()
    await expect.poll(() => fixture.states()).toEqual({ succeeded: 1, ready: 1 })
    // The loop has had every chance to poll.
    for (let chance = 0; chance < 5; chance++) expect(await isTold()).toBe(true)
    expect(handled).toEqual(['a'])
    await quiet(false)
    await expect
      .poll(async () => {
        pass(10_000)
        return handled
      })
      .toEqual(['a', 'b'])
  })

  test('goes on if it cannot tell anything, and says so once', async () => {
    const told: unknown[] = []
    const listener = {
      onError: ({ activity }: { activity: string }) => void told.push(activity),
      onRecovered: ({ activity }: { activity: string }) => void told.push(`${activity} works`),
    }
    let failing = true
    const { node, pass } = fixture.clocked({ ...patient, listener }, (own) => ({
      ...own,
      report: (...args: Parameters<Tasks['report']>) => {
        if (failing) throw new TaskError('PERMISSION_DENIED', 'task_node')
        return own.report(...args)
      },
    }))
    await using _ = node
    await fixture.push('a')
    node.process(fixture.topic, { idleMs: 1_000, handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(() => fixture.states()).toEqual({ succeeded: 1 })
    pass(10_000)
    await expect.poll(() => told).toEqual(['report'])
    failing = false
    await expect
      .poll(() => {
        pass(10_000)
        return told
      })
      .toEqual(['report', 'report works'])
  })
})
