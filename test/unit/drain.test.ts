/** `drain` of task-testing handles all that is ready as a node would, and waits for nothing. */
import { TaskDecision } from '@taskstream/task-api'
import { eachTask, exponential } from '@taskstream/task-processor'
import type { RetryPolicy, TaskHandler } from '@taskstream/task-processor'
import type { TestTasks } from '@taskstream/task-testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { drivers, later, lines, now, openTestTasks } from '../task-testing.ts'
import type { Connection } from '../task-testing.ts'

const succeed: TaskHandler<unknown> = eachTask(() => {})

describe.each(drivers)('a drain on %s', (driver) => {
  let tasks: TestTasks<Connection>
  beforeEach(async () => {
    tasks = await openTestTasks(driver)
  })
  afterEach(() => tasks[Symbol.asyncDispose]())

  const page = (): string[] =>
    tasks.repository.page(tasks.database, 'mail').map(({ identifier, state }) => `${identifier} ${state}`)

  test('handles what is ready, in batches and in order, and says what became of each task', async () => {
    await tasks.push('mail', 'a', 'b', 'c', { identifier: 'd', suspended: true })
    const batches: string[][] = []
    const handler: TaskHandler<Connection> = (batch) => {
      batches.push(batch.map(({ identifier }) => identifier))
      return new Map(batch.map((task) => [task, task.identifier === 'b' ? TaskDecision.filter('old') : TaskDecision.success()]))
    }
    const drained = await tasks.drain('mail', handler, { size: 2 })
    expect(batches).toEqual([['a', 'b'], ['c']])
    expect(lines(drained)).toEqual(['a success succeeded', 'b filter filtered old', 'c success succeeded'])
    expect(drained.lost).toEqual([])
    expect(page()).toEqual(['a succeeded', 'b filtered', 'c succeeded', 'd suspended'])
    expect(await tasks.drain('mail', handler)).toEqual({ handled: [], lost: [] })
  })

  test('handles what is due by the clock, and what is not when the clock has been moved', async () => {
    await tasks.push('mail', { identifier: 'a', delayMs: 60_000 }, { identifier: 'b', due: now })
    expect(lines(await tasks.drain('mail', succeed))).toEqual(['b success succeeded'])
    tasks.clock.advance(59_999)
    expect(lines(await tasks.drain('mail', succeed))).toEqual([])
    tasks.clock.advance(1)
    expect(lines(await tasks.drain('mail', succeed))).toEqual(['a success succeeded'])
  })

  test('releases more than one release would', async () => {
    await tasks.push('mail', ...Array.from({ length: 1_100 }, (_, index) => ({ identifier: String(index), due: now })))
    expect((await tasks.drain('mail', succeed, { size: 10_000, rounds: 1 })).handled).toHaveLength(1_100)
  })

  test('moves the clock from one due time to the next, if it is asked to', async () => {
    await tasks.push('mail', { identifier: 'a', delayMs: 60_000 }, { identifier: 'b', delayMs: 86_400_000 }, 'c')
    const seen: [string, Date][] = []
    const handler = eachTask<Connection>(({ identifier }) => void seen.push([identifier, tasks.clock.now()]))
    await tasks.drain('mail', handler, { advance: true })
    expect(seen).toEqual([
      ['c', now],
      ['a', later(60_000)],
      ['b', later(86_400_000)],
    ])
    expect(tasks.clock.now()).toEqual(later(86_400_000))
  })

  test('needs no timers', async () => {
    vi.useFakeTimers()
    try {
      await tasks.push('mail', 'a', { identifier: 'b', delayMs: 60_000 })
      const { handled } = await tasks.drain(
        'mail',
        eachTask(async () => {}),
        { advance: true },
      )
      expect(handled).toHaveLength(2)
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test('retries by the policy, and fails when that has no more tries', async () => {
    await tasks.push('mail', 'a')
    const started: Date[] = []
    const handler = eachTask<Connection>(() => {
      started.push(tasks.clock.now())
      throw new Error('broken')
    })
    const retry = exponential({ tries: 3, firstMs: 5_000, jitter: 0 })
    expect(lines(await tasks.drain('mail', handler, { retry }))).toEqual(['a suspension suspended Error: broken'])
    expect(lines(await tasks.drain('mail', handler, { retry, advance: true }))).toEqual([
      'a suspension suspended Error: broken',
      'a failure failed Error: broken',
    ])
    expect(started).toEqual([now, later(5_000), later(15_000)])
  })

  test('says failed of a retry that found no tries left', async () => {
    await tasks.push('mail', { identifier: 'a', maxTries: 2 })
    const handler = eachTask(() => TaskDecision.retry({ afterMs: 10 }, 'later'))
    expect(lines(await tasks.drain('mail', handler, { advance: true }))).toEqual([
      'a suspension suspended later',
      'a suspension failed later',
    ])
  })

  test('handles what its handler pushes, in its own topic', async () => {
    tasks.repository.initialize(tasks.database, 'post')
    await tasks.push('mail', 'a')
    const handler = eachTask<Connection>(async ({ identifier }) => {
      if (identifier !== 'a') return
      await tasks.push('mail', 'b')
      await tasks.push('post', 'c')
    })
    expect(lines(await tasks.drain('mail', handler))).toEqual(['a success succeeded', 'b success succeeded'])
    expect(tasks.repository.page(tasks.database, 'post')).toMatchObject([{ identifier: 'c', state: 'ready' }])
  })

  test('ends with an error where a handler would go on for ever, and lets go of the tasks', async () => {
    await tasks.push('mail', 'a')
    const policy: RetryPolicy = () => 0
    const always = eachTask(() => {
      throw new Error('broken')
    })
    const endless = tasks.drain('mail', always, { retry: policy, rounds: 5 })
    await expect(endless).rejects.toMatchObject({
      code: 'DRAIN_ENDLESS',
      message: expect.stringContaining('After 5 rounds tasks of topic "mail" are still ready, the first is mail/a@1'),
      data: { topic: 'mail', rounds: 5, tasks: [{ identifier: 'a' }] },
    })
    expect(tasks.repository.task(tasks.database, 'mail', 1)).toMatchObject({ state: 'ready', tries: 5 })
    expect(lines(await tasks.drain('mail', succeed, { rounds: 1 }))).toEqual(['a success succeeded'])
  })

  test('has a bound without being given one, also where the clock is moved', async () => {
    await tasks.push('mail', 'a')
    const handler = eachTask(() => TaskDecision.retry({ afterMs: 1_000 }))
    await expect(tasks.drain('mail', handler, { advance: true })).rejects.toMatchObject({
      code: 'DRAIN_ENDLESS',
      data: { rounds: 1_000 },
    })
    expect(tasks.clock.now()).toEqual(later(1_000_000))
  })

  test('ends with an error where what is due is put off again and again', async () => {
    await tasks.push('mail', { identifier: 'a', delayMs: 1_000 })
    tasks.database.exec(`
      create trigger put_off after update of state on task when new.state = 1
      begin update task set state = 4, due = old.due + 1000 where sequence = new.sequence; end`)
    await expect(tasks.drain('mail', succeed, { advance: true, rounds: 5 })).rejects.toMatchObject({
      code: 'DRAIN_ENDLESS',
      message: expect.stringContaining('still wait to be due'),
      data: { tasks: [] },
    })
    expect(tasks.clock.now()).toEqual(later(5_000))
  })

  test('reports what others took over as lost, and as nothing else', async () => {
    const rival = tasks.owner('rival')
    rival.register(tasks.database)
    await tasks.push('mail', 'a')
    const { handled, lost } = await tasks.drain('mail', (batch) => {
      tasks.clock.advance(60_000)
      rival.expire(tasks.database, { olderThanMs: 30_000, then: 'ready' })
      rival.poll(tasks.database, 'mail')
      return new Map(batch.map((task) => [task, TaskDecision.success()]))
    })
    expect(handled).toEqual([])
    expect(lost).toMatchObject([{ identifier: 'a' }])
    expect(page()).toEqual(['a active'])
  })

  test('beats for its owner, as a node would, however far the clock was moved', async () => {
    const rival = tasks.owner('rival')
    rival.register(tasks.database)
    tasks.clock.advance(86_400_000)
    await tasks.push('mail', 'a')
    await tasks.drain('mail', (batch) => {
      expect(rival.expire(tasks.database, { olderThanMs: 30_000 })).toMatchObject({ expired: 0 })
      return new Map(batch.map((task) => [task, TaskDecision.success()]))
    })
    expect(page()).toEqual(['a succeeded'])
  })

  test("keeps a handler's own writes with its completion, and throws what comes after", async () => {
    tasks.database.exec('create table sent (identifier text)')
    await tasks.push('mail', 'a')
    const handler =
      (after: () => void): TaskHandler<Connection> =>
      async (_, { complete }) => {
        await complete((transaction, held) => {
          transaction.exec(`insert into sent values ('${held[0]?.identifier}')`)
          return new Map(held.map((task) => [task, TaskDecision.success()]))
        })
        after()
      }
    expect(
      lines(
        await tasks.drain(
          'mail',
          handler(() => {}),
        ),
      ),
    ).toEqual(['a success succeeded'])
    expect(tasks.database.prepare('select count(*) as count from sent').get()).toEqual({ count: 1 })
    await tasks.push('mail', 'b')
    const late = tasks.drain(
      'mail',
      handler(() => {
        throw new Error('too late')
      }),
    )
    await expect(late).rejects.toThrow('too late')
    expect(page()).toEqual(['a succeeded', 'b succeeded'])
  })

  test('fails the batch where a handler decides of a task that is not of it', async () => {
    await tasks.push('mail', 'a')
    const handler: TaskHandler<Connection> = (batch) => new Map([[{ ...batch[0]! }, TaskDecision.success()]])
    expect(lines(await tasks.drain('mail', handler))).toEqual([
      'a failure failed TaskError: There is a decision for mail/a@1, which is not of the batch',
    ])
  })

  test('throws where a batch cannot be completed', async () => {
    await tasks.push('mail', 'a')
    const broken = tasks.drain('mail', () => void tasks.database.exec('drop table task_owner; drop table task'))
    await expect(broken).rejects.toMatchObject({ code: 'SCHEMA_MISSING' })
  })

  test('refuses an unknown topic, and options that are none', async () => {
    await expect(tasks.drain('post', succeed)).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN' })
    for (const options of [{ size: 0 }, { size: 10_001 }, { rounds: 0 }, { rounds: Infinity }]) {
      await expect(tasks.drain('mail', succeed, options)).rejects.toMatchObject({
        code: 'ARGUMENT_INVALID',
        data: { argument: Object.keys(options)[0] },
      })
    }
  })
})
