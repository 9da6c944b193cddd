/**
 * A stop decides about all held tasks and reports them, even if handlers stay, batches wait for a worker, or the database refuses
 * everything.
 */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { buffering, eachTask } from '@taskstream/task-processor'
import type { BufferState, StopReport } from '@taskstream/task-processor'
import { sql } from '@taskstream/task-sql'
import { testClock } from '@taskstream/task-testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine, reopenSubject, textColumn } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const aDay = 86_400_000
/** Whether only one connection sees the database. */
const isAlone = engine.connections === 1
const patient = { heartbeatIntervalMs: aDay, leaseMs: 3 * aDay, maintenanceIntervalMs: aDay }
const names = (tasks: readonly HeldTask[]): string[] => tasks.map(({ identifier }) => identifier).toSorted()
const named = ({ finished, returned, abandoned }: StopReport): unknown => ({
  finished: names(finished),
  returned: names(returned),
  abandoned: names(abandoned),
})

describe.skipIf(!canRun)('a stop', () => {
  const fixture = useNodeFixture('held')
  beforeAll(async () => {
    const { subject } = fixture
    await subject.transactions((transaction) => subject.execute(transaction, sql`create table written (topic ${textColumn})`))
  })

  const wentAway = (): Error => new TaskError('DATABASE_UNAVAILABLE', 'gone')
  const isBroken = (): Error => new Error('the disk is broken')
  test.each([
    ['went away', 'lets go', wentAway],
    ['went away', 'stays', wentAway],
    ['is broken', 'lets go', isBroken],
    ['is broken', 'stays', isBroken],
  ] as const)(
    'of which every statement fails as the database %s ends, and says what is left held, if a handler %s',
    async (_, how, error) => {
      await fixture.push('a', 'b', 'c')
      let broken = false
      const begun: string[] = []
      const { subject } = fixture
      const { clock, node } = fixture.clocked({
        ...patient,
        transactions: async (work, options) => {
          if (broken) throw error()
          return subject.transactions(work, options)
        },
      })
      node.process(fixture.topic, {
        size: 1,
        concurrency: 2,
        handler: eachTask(async ({ identifier }, { signal }) => {
          begun.push(identifier)
          // A handler that lets go has done its work, but that cannot be written.
          await new Promise<void>((resolve) => how === 'lets go' && signal.addEventListener('abort', () => resolve()))
        }),
      })
      await node.start()
      await expect.poll(() => begun).toEqual(['a', 'b'])
      broken = true
      let report: StopReport | undefined
      void node.stop({ graceMs: 100, abortMs: 100, leaveMs: 800 }).then((given) => (report = given))
      const from = clock.monotonicMs()
      await expect.poll(() => (clock.monotonicMs() - from < 1_000 && clock.advance(100), report)).toBeDefined()
      expect(named(report!)).toEqual({ finished: [], returned: [], abandoned: ['a', 'b'] })
      broken = false
      expect(await fixture.states()).toEqual({ active: 2, ready: 1 })
    },
  )

  // The stop closes the connection of the handler that stays, so the node has a connection of its own.
  test.skipIf(isAlone)('rolls a transaction back whose handler stays, and says that its task is returned', async () => {
    const { subject, topic } = fixture
    await using own = await reopenSubject(subject.location)
    await fixture.push('warm-up', 'stays')
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const late: unknown[] = []
    const clock = testClock(new Date())
    const node = fixture.nodeOf({ ...patient, clock, repository: own.tasks(), transactions: own.transactions })
    node.process(topic, {
      mode: 'transactional',
      size: 1,
      concurrency: 1,
      handler: async ([task], { complete }) => {
        await complete(async (transaction, held) => {
          if (task!.identifier === 'stays') {
            await own.execute(transaction, sql`insert into written values (${topic})`)
            begun.resolve()
            await gate.promise
          }
          return new Map(held.map((each) => [each, TaskDecision.success()]))
        }).catch((error: TaskError) => late.push(error.code))
      },
    })
    await node.start()
    await begun.promise
    let report: StopReport | undefined
    void node.stop({ graceMs: 1, abortMs: 1 }).then((given) => (report = given))
    // The report comes long before the time is up that the database is given.
    await expect.poll(() => (clock.advance(1), report)).toBeDefined()
    expect(named(report!)).toEqual({ finished: [], returned: ['stays'], abandoned: [] })
    expect(await fixture.states()).toEqual({ ready: 1, succeeded: 1 })
    gate.resolve()
    // The handler hears what became of its transaction, and nothing that it wrote is there.
    await expect.poll(() => late).toEqual(['TRANSACTION_ABANDONED'])
    const written = await subject.transactions((transaction) =>
      subject.execute(transaction, sql`select topic from written where topic = ${topic}`),
    )
    expect([written, await fixture.states()]).toEqual([[], { ready: 1, succeeded: 1 }])
  })

  test('hands a batch back that waits for a worker as soon as handlers are asked to let go, while the worker is still at work', async () => {
    await fixture.push('a', 'b', 'c')
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    let last: BufferState | undefined
    const { clock, node } = fixture.clocked(patient)
    node.process(fixture.topic, {
      size: 1,
      handler: buffering({
        buffer: 1,
        workers: 1,
        observer: (state) => (last = state),
        handler: eachTask(async ({ identifier }) => {
          begun.push(identifier)
          await gate.promise
        }),
      }),
    })
    await node.start()
    await expect.poll(() => last).toMatchObject({ waiting: 1, working: 1 })
    const stopping = node.stop({ graceMs: 1, abortMs: 1 })
    // The grace is over, and then the clock stands still: the time to let go is never up.
    clock.advance(1)
    await expect.poll(fixture.states).toEqual({ active: 1, ready: 2 })
    expect(last).toMatchObject({ waiting: 0, working: 1 })
    gate.resolve()
    expect(named(await stopping)).toEqual({ finished: ['a'], returned: ['b'], abandoned: [] })
    expect([begun, await fixture.states()]).toEqual([['a'], { succeeded: 1, ready: 2 }])
  })
})
