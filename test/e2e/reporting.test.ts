/** A node tells the database what it is and how it fares, so that people can look at it. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { Diagnosis, NodeInfo, NodeTopic } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import type { BatchHandler, TaskManager } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { Hearing } from '../../packages/task-processor/src/worker/hearing.ts'
import { describeNode } from '../../packages/task-processor/src/worker/node-report.ts'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const aDay = 86_400_000
const patient = { heartbeatIntervalMs: aDay, leaseMs: 3 * aDay, maintenanceIntervalMs: 10_000 }

function managerOf(topic: string): TaskManager<AnyTransaction> {
  const processing = { mode: 'leased', size: 100 }
  return { topic, processing, concurrency: 2, batches: [], isActive: true } as unknown as TaskManager<AnyTransaction>
}

async function infoIn(fixture: ReturnType<typeof useNodeFixture>, tasks: Tasks, owner: string): Promise<NodeInfo | undefined> {
  const all = await fixture.commit<readonly NodeInfo[]>((transaction) => tasks.nodes(transaction))
  return all.find((node) => node.owner === owner)
}

describe.skipIf(!canRun)('a node', () => {
  const fixture = useNodeFixture('reporting')

  const infoOf = (tasks: Tasks, owner: string): Promise<NodeInfo | undefined> => infoIn(fixture, tasks, owner)

  const topicsOf = async (tasks: Tasks, owner: string): Promise<readonly NodeTopic[] | undefined> =>
    (await infoOf(tasks, owner))?.report?.topics

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
          topics: [{ topic: fixture.topic, mode: 'leased', size: 7, concurrency: 3, busy: 0, idleMs: aDay, ended: 0, failed: 0 }],
        },
      })
    await node.stop()
    expect(await infoOf(tasks, node.owner)).toMatchObject({
      life: 'stopped',
      report: { stopped: true, topics: [{ topic: fixture.topic }] },
    })
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

  test('tells of which tasks a handler does not let go when their time is up, and for how long its polls find nothing', async () => {
    const { node, tasks, pass } = fixture.clocked(patient)
    await using _ = node
    const gate = Promise.withResolvers<void>()
    const [{ sequence } = { sequence: 0 }] = await fixture.push('a')
    node.process(fixture.topic, {
      idleMs: 1_000,
      timeoutMs: 5_000,
      abortMs: aDay,
      handler: () => gate.promise.then(() => new Map()),
    })
    await node.start()
    const told = async (): Promise<NodeTopic | undefined> => {
      pass(10_000)
      return (await infoOf(tasks, node.owner))?.report?.topics[0]
    }
    await expect.poll(told).toMatchObject({ busy: 1, stuck: [{ sequence, attempt: 1, forMs: expect.any(Number) }] })
    const diagnosis = await fixture.commit<Diagnosis>((transaction) => tasks.why(transaction, fixture.topic, sequence))
    expect(diagnosis).toMatchObject({ code: 'stuck', owner: { owner: node.owner } })
    const isEmptyFor = async (): Promise<number> => (await told())?.emptyMs ?? 0
    await expect.poll(isEmptyFor).toBeGreaterThan(30_000)
    gate.resolve()
    await expect.poll(told).not.toHaveProperty('stuck')
  })

  test('tells at once what does not work, without the password of an address, and when it works again', async () => {
    let failing = true
    const { clock, node, tasks, pass } = fixture.clocked(patient, (own) => ({
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
      pass(250)
      return (await topicsOf(tasks, node.owner))?.[0]?.error ?? 'nothing'
    }
    const from = clock.monotonicMs()
    await expect.poll(told).toMatchObject({
      activity: 'poll',
      code: 'DATABASE_UNAVAILABLE',
      message: 'postgres://…@db-1/orders is gone',
    })
    failing = false
    await expect.poll(told).toBe('nothing')
    // A poll that has failed comes again after ten seconds at most, and no regular report is due.
    expect(clock.monotonicMs() - from).toBeLessThan(30_000)
  })

  test('shows a topic whose handler cannot be opened, until it is processed', async () => {
    let isBroken = true
    const { node, tasks, pass } = fixture.clocked({ ...patient, listener: { onFatal: () => {} } })
    await using _ = node
    const open = (): { handle: BatchHandler<AnyTransaction> } => {
      if (isBroken) throw new Error('no model at https://ann:secret@models/x')
      return { handle: eachTask<AnyTransaction>(() => {}) }
    }
    const manager = node.process(fixture.topic, { idleMs: 1_000, handler: { open } })
    node.process(`${fixture.topic}-other`, { idleMs: aDay, handler: eachTask(() => {}) })
    await node.start()
    const told = async (): Promise<unknown> => {
      pass(1_000)
      const all = await topicsOf(tasks, node.owner)
      return all?.map(({ topic, error }) => [topic, error?.activity, error?.message])
    }
    await expect.poll(told).toEqual([
      [fixture.topic, 'process', 'no model at https://…@models/x'],
      [`${fixture.topic}-other`, undefined, undefined],
    ])
    isBroken = false
    await manager.start()
    await expect.poll(told).toEqual([
      [fixture.topic, undefined, undefined],
      [`${fixture.topic}-other`, undefined, undefined],
    ])
  })

  test('tells of each of two hundred topics', async () => {
    const { node, tasks } = fixture.clocked(patient)
    await using _ = node
    const names = Array.from({ length: 200 }, (_each, index) => `${fixture.topic}-${index}`)
    for (const name of names) node.process(name, { idleMs: aDay, handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(async () => (await topicsOf(tasks, node.owner))?.map(({ topic }) => topic)).toEqual(names)
  })

  test('tells what its handlers handle at a time, and not what waits in them', () => {
    const batches = Array.from({ length: 20 }, () => ({ isWaiting: false, stuck: [] }))
    const of = (manager: object): TaskManager<AnyTransaction> =>
      ({ ...managerOf('mail'), batches, ...manager }) as unknown as TaskManager<AnyTransaction>
    const told = (manager: object): NodeTopic =>
      describeNode({ hearing: new Hearing(() => {}), managers: () => [of(manager)], leaseMs: 1 }).topics[0]!
    expect(told({ concurrency: 30 })).toMatchObject({ busy: 20, concurrency: 30 })
    expect(told({ concurrency: 510, slots: { busy: 7, concurrency: 10 } })).toMatchObject({ busy: 7, concurrency: 10 })
  })

  test.each([
    ['ten thousand short names', 10_000, 'mail', 1_000],
    // Each character is six in JSON.
    ['names that are as long as they may be', 1_000, '\u0001'.repeat(240), 100],
  ])(
    'has a report that is written whatever its topics are, and leaves out those that are well: %s',
    async (_, count, name, least) => {
      const tasks = fixture.subject.tasks()
      const hearing = new Hearing(() => {})
      const managers = Array.from({ length: count }, (_each, index) => managerOf(`${name}-${index}`))
      hearing.onFatal({ topic: managers.at(-1)!.topic, error: new Error('x'.repeat(10_000)) })
      const told = describeNode({ hearing, managers: () => managers, leaseMs: 10_000 })
      await fixture.commit((transaction) => tasks.report(transaction, { ...told, host: 'h', pid: 1 }))
      const { topics, omitted } = (await infoOf(tasks, tasks.owner))!.report!
      expect(topics[0]).toMatchObject({ topic: managers.at(-1)!.topic, error: { activity: 'process' } })
      expect(topics[1]).toMatchObject({ topic: managers[0]!.topic })
      expect([topics.length + omitted!, topics.length >= least]).toEqual([count, true])
    },
  )

  test('that is stopped as soon as it has started is shown as stopped, whichever report was first', async () => {
    const { node, tasks } = fixture.clocked(patient)
    node.process(fixture.topic, { idleMs: aDay, handler: eachTask(() => {}) })
    await node.start()
    await node.stop()
    expect(await infoOf(tasks, node.owner)).toMatchObject({
      life: 'stopped',
      report: { stopped: true, topics: [{ topic: fixture.topic }] },
    })
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

describe.skipIf(!canRun)('a node of a release before', () => {
  // The tables of this database stay too new.
  const fixture = useNodeFixture('refused')

  test('takes no more tasks once the tables are too new for it, and says why', async () => {
    const { node, tasks, pass } = fixture.clocked(patient)
    await using _ = node
    const migrations = tasks.verb(function* ({ dialect }, statement: (table: Statement) => Statement) {
      yield statement(dialect.tables.migration)
    })
    const change = (statement: (table: Statement) => Statement): Promise<unknown> =>
      fixture.subject.owner.transactions(async (transaction) => void (await migrations(transaction, statement)))
    node.process(fixture.topic, { idleMs: 1_000, handler: eachTask(() => {}) })
    await node.start()
    await fixture.push('a')
    await expect.poll(() => (pass(1_000), fixture.states())).toEqual({ succeeded: 1 })
    await change(
      (table) => sql`insert into ${table} (version, name, applied, works_from) values (999, 'of a later release', 'now', 999)`,
    )
    await expect.poll(() => (pass(1_000), node.troubles)).toContain('schema')
    await fixture.push('b')
    const told = async (): Promise<unknown> => {
      pass(1_000)
      return (await infoIn(fixture, tasks, node.owner))?.report?.error
    }
    await expect.poll(told).toMatchObject({ activity: 'report', code: 'SCHEMA_NEWER' })
    expect(await fixture.states()).toEqual({ succeeded: 1, ready: 1 })
  })
})
