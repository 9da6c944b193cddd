/** The doctor finds what is wrong with tasks, topics, owners and timers, and nothing else. */
import { TaskDecision } from '@taskstream/task-api'
import { periodicTasks } from '@taskstream/task-scheduler'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { openFixture } from '@taskstream/task-testing/suite'
import type { AnyTransaction, Fixture } from '@taskstream/task-testing/suite'
import { canRun, engine, isPostgres } from '../subject.ts'
import type { Subject } from '../subject.ts'
import { complaintsAmong, complaintsOf, findingOf, findingsOf } from './examining.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

interface Patient extends AsyncDisposable {
  readonly fixture: Fixture<Subject>
  /** Moves the clock of the database, and that of this process with it. */
  later(ms: number): void
  complaints(): Promise<string[]>
  findings(): ReturnType<typeof findingsOf>
}

async function open(): Promise<Patient> {
  let ahead = 0
  const clock = (): Date => new Date(Date.now() + ahead)
  const fixture = await openFixture(engine, clock)
  // No test is about topics that nobody processes, but those that say so.
  const keeper = await fixture.owner('keeper')
  const findings: Patient['findings'] = async () => {
    await fixture.commit(async (transaction) => {
      await keeper.heartbeat(transaction)
      const topics = await keeper.overview(transaction)
      await keeper.report(transaction, { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, topics })
    })
    return await findingsOf(fixture.subject, { tasks: fixture.tasks, clock })
  }
  return {
    fixture,
    later: (ms) => void (ahead += ms),
    findings,
    complaints: async () => complaintsAmong(await findings()),
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  }
}

describe.skipIf(!canRun)('the doctor', () => {
  test('complains of nothing where tasks are pushed, polled and completed, also in its deep checks', async () => {
    await using fixture = await openFixture(engine)
    await fixture.push('a', 'b', 'c', { identifier: 'd', delayMs: hour })
    const held = await fixture.poll(2)
    await fixture.complete(held.slice(0, 1))
    const findings = await findingsOf(fixture.subject, { deep: true })
    expect(complaintsAmong(findings)).toEqual([])
    // Otherwise nothing would have been looked at.
    expect(findings.filter(({ severity }) => severity === 'ok').length).toBeGreaterThan(12)
  })

  test('finds a topic that was paused and forgotten, as soon as it has ready tasks', async () => {
    await using patient = await open()
    const { fixture, later, complaints, findings } = patient
    await fixture.commit((transaction) => fixture.tasks.deactivate(transaction, fixture.topic))
    later(25 * hour)
    expect(await complaints()).toEqual([])
    await fixture.push('a')
    expect(await complaints()).toEqual(['paused warn'])
    expect(findingOf(await findings(), 'paused')).toMatchObject({
      measured: `${fixture.topic} has been paused for 1 d 1 h, and has ready tasks`,
      remedy: `taskstream resume ${fixture.topic}`,
      facts: { count: 1, worst: [{ topic: fixture.topic }] },
    })
    await fixture.commit((transaction) => fixture.tasks.activate(transaction, fixture.topic))
    expect(await complaints()).toEqual([])
  })

  test('finds a delayed task that is due and that nobody makes ready, unless its topic is paused', async () => {
    await using patient = await open()
    const { fixture, later, complaints, findings } = patient
    await fixture.push({ identifier: 'a', delayMs: second })
    expect(findingOf(await findings(), 'overdue').measured).toBe('none')
    later(12 * second)
    expect(await complaints()).toEqual(['overdue warn'])
    later(5 * minute)
    expect(await complaints()).toEqual(['overdue crit'])
    await fixture.commit((transaction) => fixture.tasks.deactivate(transaction, fixture.topic))
    expect(await complaints()).toEqual([])
  })

  test('finds an owner that holds a task and is silent, whether it is registered or not', async () => {
    await using patient = await open()
    const { fixture, later, complaints } = patient
    const other = await fixture.owner('gone')
    later(10 * minute)
    expect(await complaints()).toEqual([])
    await fixture.commit((transaction) => other.heartbeat(transaction))
    await fixture.push('a')
    await fixture.poll(1, other)
    expect(await complaints()).toEqual([])
    later(31 * second)
    expect(await complaints()).toEqual(['owner-silent warn'])
    later(60 * second)
    expect(await complaints()).toEqual(['owner-silent crit'])
    await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, sql`delete from ${table('task_owner')} where name = ${'gone'}`),
    )
    expect(await complaints()).toEqual(['owner-silent crit'])
  })

  test('finds a timer that is due and that nobody fires', async () => {
    await using patient = await open()
    const { fixture, later, complaints, findings } = patient
    const timers = periodicTasks(fixture.tasks, { scope: 'house' })
    const task = { id: 'chores', timer: 'hourly', topic: fixture.topic, identifier: 'a' }
    await fixture.commit((transaction: AnyTransaction) => timers.schedule(transaction, task))
    expect(findingOf(await findings(), 'timer-overdue').measured).toBe('none')
    later(hour + 2 * minute)
    expect((await complaints()).map((each) => each.split(' ')[0])).toEqual(['timer-overdue'])
    later(10 * minute)
    expect(await complaints()).toEqual(['timer-overdue crit'])
  })

  test('finds a task that is tried again and again without an end', async () => {
    await using patient = await open()
    const { fixture, complaints } = patient
    await fixture.push('a')
    await fixture.complete(await fixture.poll(), TaskDecision.retry({ afterMs: hour }, 'no'))
    expect(await complaints()).toEqual([])
    const tries = fixture.tasks.verb(function* ({ dialect }) {
      yield sql`update ${dialect.tables.task} set tries = 1001 where topic = ${fixture.topic}`
    })
    await fixture.commit((transaction) => tries(transaction))
    expect(await complaints()).toEqual(['retry-endless warn'])
  })

  test('finds a failed task for which others of its identifier wait', async () => {
    await using patient = await open()
    const { fixture, later, complaints, findings } = patient
    await fixture.nextTopic({ condition: 'singular-by-identifier-suspend-on-failure' })
    await fixture.push('a', 'b')
    await fixture.complete(await fixture.poll(), TaskDecision.failure('no'))
    later(2 * hour)
    expect(await complaints()).toEqual([])
    await fixture.push('a', 'a')
    await fixture.poll()
    expect(await complaints()).toEqual(['identifier-blocked warn'])
    expect(findingOf(await findings(), 'identifier-blocked').measured).toMatch(/ has kept 2 tasks of a waiting for 2 h/)
    later(23 * hour)
    expect(await complaints()).toEqual(['identifier-blocked crit'])
  })

  test('finds a suspended task for which others of its identifier wait, only where these wait for a success', async () => {
    await using patient = await open()
    const { fixture, later, complaints } = patient
    for (const condition of ['singular-by-identifier', 'singular-by-identifier-suspend-until-success'] as const) {
      await fixture.nextTopic({ condition })
      await fixture.push({ identifier: 'a', suspended: true }, 'a')
    }
    later(2 * hour)
    expect(await complaints()).toEqual(['identifier-blocked warn'])
  })

  test('finds tables of another release', async () => {
    await using fixture = await openFixture(engine)
    const change = (text: Statement): Promise<unknown> =>
      fixture.commit((transaction) => fixture.subject.execute(transaction, text))
    const migrations = table('task_migration')
    await change(sql`insert into ${migrations} (version, name, applied, works_from) values (998, 'wider', 'now', 1)`)
    expect(await complaintsOf(fixture.subject)).toEqual([])
    await change(sql`insert into ${migrations} (version, name, applied, works_from) values (999, 'other', 'now', 999)`)
    expect(await complaintsOf(fixture.subject)).toEqual(['schema crit'])
    await change(sql`delete from ${migrations} where version > 1`)
    const older = findingOf(await findingsOf(fixture.subject), 'schema')
    expect(older).toMatchObject({ severity: 'crit', remedy: 'taskstream migrate up' })
  })

  test('finds a clock of this process that is apart, in either direction', async () => {
    await using fixture = await openFixture(engine)
    const apart =
      (ms: number): (() => Date) =>
      () =>
        new Date(Date.now() + ms)
    expect(await complaintsOf(fixture.subject, { clock: apart(5 * second) })).toEqual(['clock warn'])
    expect(await complaintsOf(fixture.subject, { clock: apart(-minute) })).toEqual(['clock crit'])
    const { measured } = findingOf(await findingsOf(fixture.subject, { clock: apart(-minute) }), 'clock')
    expect(measured).toMatch(/behind the clock of the database$/)
  })

  test('estimates how much is kept', async () => {
    await using fixture = await openFixture(engine)
    await fixture.push('a', 'b', 'c')
    await fixture.subject.owner.transactions<void>((transaction: AnyTransaction) => fixture.tasks.refresh(transaction))
    const few = { unit: 'rows', warn: 1 } as const
    const given = { thresholds: { history: few } }
    await expect.poll(() => complaintsOf(fixture.subject, given)).toEqual(['history warn'])
  })
})

/** A table of ours, for statements of the tests. */
function table(name: string): Statement {
  return raw(isPostgres ? `taskstream.${name}` : name)
}
