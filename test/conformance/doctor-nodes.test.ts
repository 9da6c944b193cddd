/** The doctor finds what is wrong with nodes, by what they tell of themselves, and `attention` tells the worst of it first. */
import type { NodeReport } from '@taskstream/task-api'
import { TaskDecision } from '@taskstream/task-api'
import { attention } from '@taskstream/task-operations'
import type { Attention } from '@taskstream/task-operations'
import { periodicTasks } from '@taskstream/task-scheduler'
import { raw, sql } from '@taskstream/task-sql'
import { openFixture } from '@taskstream/task-testing/suite'
import type { AnyTransaction, Fixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine, isPostgres } from '../subject.ts'
import type { Subject, Tasks } from '../subject.ts'
import { complaintsAmong, findingOf, findingsOf } from './examining.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

interface Fleet extends AsyncDisposable {
  readonly fixture: Fixture<Subject>
  later(ms: number): void
  /** A process that lives, and what it tells. */
  node(name: string, report?: Partial<NodeReport>, release?: string): Promise<Tasks>
  complaints(): Promise<string[]>
  findings(): ReturnType<typeof findingsOf>
  needs(limit?: number): Promise<readonly Attention[]>
}

async function open(): Promise<Fleet> {
  let ahead = 0
  const clock = (): Date => new Date(Date.now() + ahead)
  const fixture = await openFixture(engine, clock)
  const { transactions } = fixture.subject
  const findings = (): ReturnType<typeof findingsOf> => findingsOf(fixture.subject, { tasks: fixture.tasks, clock })
  return {
    fixture,
    later: (ms) => void (ahead += ms),
    node: async (name, report = {}, release) => {
      const tasks = fixture.subject.tasks({ owner: name, clock, ...(release !== undefined && { release }) })
      const topics = [{ topic: fixture.topic }]
      await fixture.commit((transaction) => tasks.register(transaction))
      await fixture.commit((transaction) =>
        tasks.report(transaction, { kind: 'node', host: 'h', pid: 1, leaseMs: 30 * second, topics, ...report }),
      )
      return tasks
    },
    findings,
    complaints: async () => complaintsAmong(await findings()),
    // Servers of the tests do not wait for the disk, which is a matter of the database.
    needs: async (limit) => {
      const all = await attention({ tasks: fixture.tasks, transactions, ...(limit !== undefined && { limit }) } as never)
      return limit === undefined ? all.filter(({ id }) => id !== 'database') : all
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  }
}

const trouble = { activity: 'poll', message: 'no route to host', since: new Date(0) }

describe.skipIf(!canRun)('the doctor, of nodes', () => {
  test('finds ready tasks that nobody processes, and who was the last to do so, until a node starts', async () => {
    await using fleet = await open()
    const { fixture, later, complaints, findings, node } = fleet
    await node('worker', {}, '4.2.0')
    await fixture.push('a')
    later(2 * minute)
    expect(await complaints()).toEqual(['nobody-processes warn'])
    expect(findingOf(await findings(), 'nobody-processes')).toMatchObject({
      measured: expect.stringMatching(/has had ready tasks for 2 min.*; the last was worker of release 4\.2\.0, which is dead$/),
      remedy: `start a node for ${fixture.topic}`,
    })
    later(9 * minute)
    expect(await complaints()).toEqual(['nobody-processes crit'])
    // Another has come after the one that died, and has stopped as it should.
    const tasks = await node('third')
    const stopped = {
      kind: 'node',
      host: 'h',
      pid: 3,
      leaseMs: 30_000,
      topics: [{ topic: fixture.topic }],
      stopped: true,
    } as const
    await fixture.commit((transaction) => tasks.report(transaction, stopped))
    expect(findingOf(await findings(), 'nobody-processes')).toMatchObject({
      measured: expect.stringMatching(/; the last was third, which is stopped$/),
    })
    await node('next')
    expect(await complaints()).toEqual([])
  })

  test('finds a node that reports an error, and says whether all nodes of the topic do', async () => {
    await using fleet = await open()
    const { fixture, complaints, findings, node } = fleet
    await node('ill', { topics: [{ topic: fixture.topic, error: trouble }] })
    expect(await complaints()).toEqual(['node-failing crit'])
    await node('well')
    expect(await complaints()).toEqual(['node-failing warn'])
    expect(findingOf(await findings(), 'node-failing').measured).toContain('poll fails: no route to host')
  })

  test('finds a topic of which many attempts fail, and not one of which few do, or that has hardly any', async () => {
    await using fleet = await open()
    const { fixture, complaints, node } = fleet
    const told = (ended: number, failed: number): Promise<unknown> =>
      node(`n${ended}-${failed}`, { topics: [{ topic: fixture.topic, ended, failed }] })
    await told(10, 10)
    expect(await complaints()).toEqual([])
    await told(10, 0)
    expect(await complaints()).toEqual(['failing warn'])
    await told(180, 0)
    expect(await complaints()).toEqual([])
    await told(300, 300)
    expect(await complaints()).toEqual(['failing crit'])
  })

  test('finds options that differ, and an event loop that stood still', async () => {
    await using fleet = await open()
    const { fixture, complaints, findings, node } = fleet
    await node('one', { topics: [{ topic: fixture.topic, mode: 'leased', size: 10 }] })
    await node('two', { topics: [{ topic: fixture.topic, mode: 'transactional', size: 10 }], blockedMs: 2 * second })
    expect(await complaints()).toEqual(['options-unlike warn', 'event-loop warn'])
    expect(findingOf(await findings(), 'options-unlike').measured).toBe(`nodes of ${fixture.topic} differ in their mode`)
  })

  test('finds releases that have run side by side for longer than a deploy takes', async () => {
    await using fleet = await open()
    const { fixture, later, complaints, node } = fleet
    const both = [await node('one', {}, '1'), await node('two', {}, '2')]
    expect(await complaints()).toEqual([])
    later(2 * hour)
    for (const each of both) await fixture.commit((transaction) => each.heartbeat(transaction))
    expect(await complaints()).toEqual(['release-skew warn'])
  })
})

describe.skipIf(!canRun)('attention', () => {
  test('tells at most five things, the worst first, and each kind before others of its kind', async () => {
    await using fleet = await open()
    const { fixture, later, needs, node } = fleet
    const timers = periodicTasks(fixture.tasks, { scope: 'house' })
    const worker = await node('worker', {}, '1')
    await fixture.push('held')
    await fixture.poll(1, worker)
    await fixture.push('a', { identifier: 'd', delayMs: second })
    const task = { id: 'chores', timer: 'hourly', topic: fixture.topic }
    await fixture.commit((transaction: AnyTransaction) => timers.schedule(transaction, task))
    expect(await needs()).toEqual([])
    later(2 * hour)
    await node('other', { topics: [], error: trouble })
    const all = await needs(1_000)
    expect(all.map(({ id, severity }) => `${id} ${severity}`).filter((each) => !each.startsWith('database'))).toEqual([
      'nobody-processes crit',
      'node-failing crit',
      'overdue crit',
      'timer-overdue crit',
      'owner-silent warn',
    ])
    expect(await needs(5)).toHaveLength(5)
    expect((await needs(2)).map(({ severity }) => severity)).toEqual(['crit', 'crit'])
    await expect(needs(0)).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' })
  })

  test('tells of a backlog, of a pause that was forgotten, and of releases side by side', async () => {
    await using fleet = await open()
    const { fixture, later, needs, node } = fleet
    await fixture.push('a')
    later(10 * minute)
    await node('one', {}, '1')
    expect(await kinds(needs)).toEqual(['backlog-age'])
    const two = await node('two', {}, '2')
    await fixture.commit((transaction) => fixture.tasks.deactivate(transaction, fixture.topic))
    later(25 * hour)
    const one = await node('three', {}, '1')
    for (const each of [one, two]) await fixture.commit((transaction) => each.heartbeat(transaction))
    expect(await kinds(needs)).toEqual(['paused-long'])
    later(2 * hour)
    for (const each of [one, two]) await fixture.commit((transaction) => each.heartbeat(transaction))
    expect(await kinds(needs)).toEqual(['paused-long', 'release-skew'])
  })

  test('tells of what only a later release can read, once a deploy is over', async () => {
    await using fleet = await open()
    const { fixture, later, needs, node } = fleet
    const { topic } = fixture
    const since = new Date()
    const newer = { activity: 'handle', message: 'version 2 is not known', code: 'INPUT_NEWER', since }
    const all = [
      await node('old-1', { topics: [{ topic, newer }] }, '1.3'),
      await node('old-2', { topics: [{ topic, newer: { ...newer, since: new Date(since.getTime() + minute) } }] }, '1.3'),
    ]
    const beat = async (): Promise<void> => {
      for (const each of all) await fixture.commit((transaction) => each.heartbeat(transaction))
    }
    later(9 * minute)
    await beat()
    expect(await kinds(needs)).toEqual([])
    later(2 * minute)
    await beat()
    expect((await needs()).filter(({ id }) => id !== 'database')).toEqual([
      {
        id: 'input-newer',
        severity: 'warn',
        topic,
        text: `${topic}: old-1 (release 1.3) and 1 more put off for 11 min what a later release has pushed, which runs once that release does: version 2 is not known`,
        command: 'taskstream nodes',
      },
    ])
    // Who has stopped puts nothing off.
    for (const each of all) await fixture.commit((transaction) => each.unregister(transaction))
    expect(await kinds(needs)).toEqual([])
  })

  test('tells of an error that is new, and later only if it is frequent', async () => {
    await using fleet = await open()
    const { fixture, later, needs, node } = fleet
    const fail = async (count: number): Promise<void> => {
      const worker = await node('worker', {}, '1')
      await fixture.push(...Array.from({ length: count }, (_, index) => `t${index}`))
      await fixture.complete(await fixture.poll(count, worker), TaskDecision.failure(new Error('no')), worker)
    }
    await fail(1)
    expect((await needs()).map(({ id, severity }) => [id, severity])).toEqual([['failing-new', 'warn']])
    later(2 * hour)
    await fail(2)
    expect(await kinds(needs)).toEqual([])
    await fail(30)
    expect((await needs()).map(({ id, severity }) => [id, severity])).toEqual([['failing', 'crit']])
  })

  test('tells of an error that has healed by itself only if it is frequent, and never as the worst', async () => {
    await using fleet = await open()
    const { fixture, needs, node } = fleet
    const worker = await node('worker', {}, '1')
    const tryTwice = async (count: number): Promise<void> => {
      await fixture.push(...Array.from({ length: count }, (_, index) => `t${index}`))
      const first = await fixture.poll(count, worker)
      await fixture.complete(first, TaskDecision.retry({ afterMs: 0 }, new Error('no')), worker)
      await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
      await fixture.complete(await fixture.poll(count, worker), TaskDecision.success(), worker)
    }
    await tryTwice(1)
    expect(await kinds(needs)).toEqual([])
    await tryTwice(30)
    const [told, ...others] = await needs()
    expect(told).toMatchObject({ id: 'failing-new', severity: 'warn' })
    expect(told!.text).toContain('none of its tasks is left to do')
    expect(others).toEqual([])
  })

  test('tells of a pause as soon as tasks have waited for long', async () => {
    await using fleet = await open()
    const { fixture, later, needs } = fleet
    await fixture.commit((transaction) => fixture.tasks.deactivate(transaction, fixture.topic))
    await fixture.push('a')
    later(4 * minute)
    expect(await kinds(needs)).toEqual([])
    later(2 * minute)
    expect((await needs()).map(({ id, severity }) => [id, severity])).toEqual([['paused-long', 'warn']])
  })

  test('tells of a task that a living process has had at work for more than an hour', async () => {
    await using fleet = await open()
    const { fixture, later, needs, node } = fleet
    await fixture.push('quick', 'hangs', 'hangs too')
    const worker = await node('worker')
    const [quick] = await fixture.poll(3, worker)
    await fixture.complete([quick!], TaskDecision.success(), worker)
    const beat = (): Promise<unknown> => fixture.commit((transaction) => worker.heartbeat(transaction))
    later(50 * minute)
    await beat()
    expect(await kinds(needs)).toEqual([])
    later(20 * minute)
    await beat()
    const [told, ...others] = await needs()
    expect(others).toEqual([])
    expect(told).toMatchObject({ id: 'active-long', severity: 'warn', topic: fixture.topic })
    expect(told!.text).toMatch(/: hangs @\d+ has been at work for 1 h 10 min, held by worker:.*, and 1 more$/)
    // A process that has died tells of its tasks by that.
    later(10 * minute)
    expect(await kinds(needs)).toEqual(['owner-silent'])
  })

  test('tells only of the tables where this release does not work on them', async () => {
    await using fleet = await open()
    const { fixture, needs } = fleet
    const migrations = raw(isPostgres ? 'taskstream.task_migration' : 'task_migration')
    await fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`insert into ${migrations} (version, name, applied, works_from) values (999, 'other', 'now', 999)`,
      ),
    )
    expect(await needs()).toEqual([expect.objectContaining({ id: 'schema', severity: 'crit', command: 'upgrade taskstream' })])
  })
})

/** What needs attention, without how much. */
async function kinds(needs: Fleet['needs']): Promise<string[]> {
  return (await needs()).map(({ id }) => id)
}
