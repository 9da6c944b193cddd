/** Tasks of asyncjobs that the clock creates: what is refused, when they are due, and that each is created once. */
import { firing } from '@taskstream/task-scheduler'
import { thrownBy } from '@taskstream/task-testing/suite'
import { asyncJobs } from 'taskstream/asyncjobs'
import { testStream } from 'taskstream/testing'
import { describe, expect, test } from 'vitest'

const argument = (name: string): object => ({ code: 'ARGUMENT_INVALID', data: { argument: name } })

describe('a scheduled task', () => {
  const schedule = async (...given: readonly unknown[]): Promise<unknown> => {
    await using stream = await testStream()
    const { schedules } = asyncJobs(stream)
    return thrownBy(() =>
      (schedules.newScheduledTask as (...all: readonly unknown[]) => Promise<unknown>).call(schedules, ...given),
    )
  }

  test.each([
    ['name', 'name is required', ['', '@daily', 'DEFAULT', 'a']],
    ['name', 'name is invalid', ['a b', '@daily', 'DEFAULT', 'a']],
    ['schedule', 'schedule is required', ['a', '', 'DEFAULT', 'a']],
    ['schedule', 'invalid cron schedule', ['a', '* * * *', 'DEFAULT', 'a']],
    ['schedule', 'invalid cron schedule', ['a', 7, 'DEFAULT', 'a']],
    ['schedule', 'invalid cron schedule', ['a', '0 * * * * *', 'DEFAULT', 'a']],
    ['schedule', 'invalid cron schedule', ['a', '61 * * * *', 'DEFAULT', 'a']],
    ['schedule', 'invalid cron schedule', ['a', '@never', 'DEFAULT', 'a']],
    ['schedule', 'invalid cron schedule', ['a', '@every soon', 'DEFAULT', 'a']],
    ['name', 'queue name is required', ['a', '@daily', '', 'a']],
    ['type', 'task type is invalid', ['a', '@daily', 'DEFAULT', '']],
    ['deadlineMs', 'deadline too short', ['a', '@daily', 'DEFAULT', 'a', null, { deadlineMs: 29_999 }]],
    ['deadline', 'deadlineMs', ['a', '@daily', 'DEFAULT', 'a', null, { deadline: new Date() }]],
  ])('is refused for its %s: %s', async (name, text, given) => {
    expect(await schedule(...given)).toMatchObject({ ...argument(name), message: expect.stringContaining(text) })
  })

  test('is refused with what is wrong with its schedule', async () => {
    const messages = ['* * * *', '@never', '@every soon', '61 * * * *'].map(async (given) => {
      return ((await schedule('a', given, 'DEFAULT', 'a')) as Error).message
    })
    expect(await Promise.all(messages)).toEqual([
      expect.stringMatching(
        /^invalid cron schedule: \* \* \* \* \(there is five fields, @yearly, .*, or @every and a duration\)$/,
      ),
      expect.stringContaining('@never (there is five fields'),
      expect.stringContaining('@every soon (soon is no duration, such as 1h30m)'),
      expect.stringMatching(/61 \* \* \* \* \(.*61/),
    ])
  })

  test.each([
    ['30 2 * * 1-5', 'cron:30 2 * * 1-5'],
    ['30  2 * *\t1-5', 'cron:30 2 * * 1-5'],
    ['@yearly', 'cron:0 0 1 1 *'],
    ['@annually', 'cron:0 0 1 1 *'],
    ['@monthly', 'cron:0 0 1 * *'],
    ['@weekly', 'cron:0 0 * * 0'],
    ['@daily', 'cron:0 0 * * *'],
    ['@midnight', 'cron:0 0 * * *'],
    ['@hourly', 'cron:0 * * * *'],
    ['@every 1h30m', 'every:PT1H30M'],
    ['@every 90.5s', 'every:PT1M30S'],
    ['@every 5ms', 'every:PT1S'],
  ])('goes by %s as the timer %s, and is read as it was written', async (given, expression) => {
    await using stream = await testStream({ now: new Date('2027-01-01T00:00:00Z') })
    const { schedules } = asyncJobs(stream)
    const task = await schedules.newScheduledTask(
      'a',
      given,
      'DEFAULT',
      'email',
      { to: 'ann' },
      { deadlineMs: 30_000, maxTries: 2 },
    )
    const { timer } = (await stream.tasks.timers.list(stream.database, { scope: 'asyncjobs' }))[0] as unknown as { timer: string }
    expect(timer).toBe(expression)
    const loaded = await schedules.loadScheduledTaskByName('a')
    expect(loaded.toJSON()).toEqual({
      name: 'a',
      schedule: given,
      queue: 'DEFAULT',
      task_type: 'email',
      payload: 'eyJ0byI6ImFubiJ9',
      deadline: 30_000_000_000,
      max_tries: 2,
      created_at: task.createdAt.toISOString(),
    })
    expect([loaded.name, loaded.schedule, loaded.queue, loaded.taskType, loaded.maxTries]).toEqual([
      'a',
      given,
      'DEFAULT',
      'email',
      2,
    ])
    expect([loaded.deadlineMs, loaded.createdAt, Buffer.from(loaded.payload!).toString()]).toEqual([
      30_000,
      task.createdAt,
      '{"to":"ann"}',
    ])
  })

  test('that cannot be read is invalid', async () => {
    await using stream = await testStream()
    const { schedules } = asyncJobs(stream)
    await schedules.newScheduledTask('a', '@daily', 'DEFAULT', 'email')
    stream.database.exec(`update task_periodic set input = '{}'`)
    expect(await thrownBy(() => schedules.loadScheduledTaskByName('a'))).toMatchObject({
      code: 'INPUT_INVALID',
      message: 'invalid scheduled task: a',
    })
  })

  test('creates a task when it is time, once, and none for the times that were missed', async () => {
    await using stream = await testStream({ now: new Date('2027-01-01T00:00:00Z') })
    const client = asyncJobs(stream)
    client.handle(client.newTaskRouter().handleFunc('', (task) => task.json()))
    client.schedules.handle().handle()
    await client.schedules.newScheduledTask('a', '@every 10m', 'DEFAULT', 'email', 7)
    const fire = firing(stream.tasks)
    const fired = (): string => fire(stream.database).outcome
    expect(fired()).toBe('idle')
    stream.clock.advance(600_000)
    expect([fired(), fired()]).toEqual(['submitted', 'idle'])
    stream.clock.advance(3_000_000 + 90_000)
    expect([fired(), fired()]).toEqual(['late', 'idle'])
    await stream.drain()
    const tasks = await client.tasks()
    expect(tasks.map(({ type, state, result }) => [type, state, result?.payload])).toEqual([['email', 'complete', 7]])
    expect(tasks[0]?.deadline).toBeUndefined()
  })

  test('is noticed by a scheduler that runs already, and is created once by several', async () => {
    await using stream = await testStream({ now: new Date('2027-01-01T00:00:00Z') })
    const client = asyncJobs(stream)
    const { schedules } = client
    await using one = schedules.newTaskScheduler()
    await using another = schedules.newTaskScheduler()
    await Promise.all([one.start(), another.start()])
    await schedules.newScheduledTask('a', '@hourly', 'DEFAULT', 'email')
    stream.clock.advance(3_600_000)
    await schedules.newScheduledTask('b', '@yearly', 'DEFAULT', 'email')
    await expect
      .poll(
        async () => (await stream.tasks.overview(stream.database)).find(({ topic }) => topic === 'asyncjobs:occurrence')?.ready,
      )
      .toBe(1)
    expect(await schedules.count()).toBe(2)
    await schedules.removeScheduledTask('a')
    expect(await schedules.count()).toBe(1)
  })
})
