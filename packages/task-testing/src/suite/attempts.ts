/** Each attempt that neither succeeded nor filtered its task leaves a row of its history, and no other does. */
import { TaskDecision } from '@taskstream/task-api'
import type { Diagnosis, HeldTask, TaskAttempt, TaskCreation } from '@taskstream/task-api'
import { testClock } from '../test-clock.ts'
import { beforeAll, expect, test } from 'vitest'
import { codeOf, useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { Part, Tasks } from './engine.ts'

const { failure, filter, retry, snooze, success, suspension } = TaskDecision

/** The release that a repository takes from the environment, if there is one. */
const release = process.env['TASKSTREAM_RELEASE'] || process.env['npm_package_version']
const released = release === undefined ? {} : { release }

export const attempts: Part = part('attempts', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })
  let rival: Tasks
  beforeAll(async () => {
    rival = await fixture.owner()
  })
  const attemptsOf = (which: number | { readonly externalId: string }, topic = fixture.topic): Promise<readonly TaskAttempt[]> =>
    fixture.commit<readonly TaskAttempt[]>((transaction) => fixture.tasks.attempts(transaction, topic, which))
  const outcomesOf = async (which: number): Promise<[number, string][]> =>
    (await attemptsOf(which)).map(({ attempt, outcome }) => [attempt, outcome])
  const pushed = async (creation: string | TaskCreation): Promise<number> => (await fixture.push(creation))[0]!.sequence
  /** Has a task tried once, a second long, and makes it ready again if it is to be retried at once. */
  const tried = async (decision: TaskDecision): Promise<HeldTask> => {
    const [task] = await fixture.poll(1)
    clock.advance(1_000)
    await fixture.complete([task!], decision)
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    return task!
  }

  test('that fail leave what has caused the error, and are told apart by it', async () => {
    const failedBy = (cause: Error): TaskDecision => failure(new Error('Failed query: insert into bookings', { cause }))
    const attempts: TaskAttempt[] = []
    for (const cause of [new Error('duplicate key 7'), new Error('duplicate key 8'), new Error('the disk is full')]) {
      const sequence = await pushed('a')
      await tried(failedBy(new Error('from a pool', { cause })))
      attempts.push(...(await attemptsOf(sequence)))
    }
    expect(attempts.map(({ error }) => error)).toEqual([
      'Error: Failed query: insert into bookings, caused by Error: duplicate key 7',
      'Error: Failed query: insert into bookings, caused by Error: duplicate key 8',
      'Error: Failed query: insert into bookings, caused by Error: the disk is full',
    ])
    expect(attempts[0]!.message).toMatch(
      /^Error: Failed query[^]*\nCaused by: Error: from a pool[^]*\nCaused by: Error: duplicate key 7/,
    )
    const [first, second, third] = attempts.map(({ fingerprint }) => fingerprint)
    expect(second).toBe(first)
    expect(third).not.toBe(first)
  })

  test('that fail leave who tried, when, how it ended, and the error with its stack', async () => {
    await fixture.push({ identifier: 'a', externalId: 'x' })
    const started = clock.now()
    class CardDeclined extends Error {
      override name = 'CardDeclined'
    }
    const error = new CardDeclined('no money\nleft')
    const { sequence } = await tried(failure('ann').include(error))
    const expected = {
      attempt: 1,
      started,
      ended: new Date(started.getTime() + 1_000),
      outcome: 'failed',
      owner: fixture.tasks.owner,
      error: 'CardDeclined: no money',
      message: `ann\n${error.stack}`,
      fingerprint: expect.stringMatching(/^[\w-]{16}$/) as string,
      ...released,
    }
    expect(await attemptsOf(sequence)).toEqual([expected])
    expect(await attemptsOf({ externalId: 'x' })).toEqual([expected])
  })

  test('leave nothing if they succeed or are filtered, or if the task is not held any more', async () => {
    await fixture.push('a', 'b', 'c', 'd')
    const [a, b, c, d] = await fixture.poll()
    await fixture.commit((transaction) => fixture.tasks.cancel(transaction, fixture.topic, c!.sequence))
    const decisions = new Map([
      [a!, success('done')],
      [b!, filter('gone').because('timeout')],
      [c!, failure('too late')],
      [d!, failure('d')],
    ])
    await fixture.commit((transaction) => fixture.tasks.complete(transaction, fixture.topic, decisions))
    for (const task of [a!, b!, c!]) expect(await attemptsOf(task.sequence)).toEqual([])
    expect(await attemptsOf(d!.sequence)).toMatchObject([{ outcome: 'failed', error: 'd', message: 'd' }])
  })

  test('keep the ids of their traces where they are told, and a question why tells the last', async () => {
    await fixture.push('a', 'b', 'c')
    const [a, b, c] = await fixture.poll()
    const trace = '0af7651916cd43dd8448eb211c80319c'
    const complete = (traces: ReadonlyMap<HeldTask, string>): Promise<unknown> => {
      const decisions = new Map([a!, b!].map((task) => [task, failure('no')])).set(c!, success())
      return fixture.commit((transaction) => fixture.tasks.complete(transaction, fixture.topic, decisions, { traces }))
    }
    for (const wrong of ['', 'x'.repeat(65), '\0'])
      expect(await codeOf(() => complete(new Map([[a!, wrong]])))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => complete([a, trace] as never))).toBe('ARGUMENT_INVALID')
    await complete(new Map([a!, c!].map((task) => [task, trace])))
    expect(await attemptsOf(a!.sequence)).toMatchObject([{ outcome: 'failed', trace }])
    expect((await attemptsOf(b!.sequence))[0]).not.toHaveProperty('trace')
    expect(await attemptsOf(c!.sequence)).toEqual([])
    const why = await fixture.commit<Diagnosis>((transaction) => fixture.tasks.why(transaction, fixture.topic, a!.sequence))
    expect(why.last).toMatchObject({ attempt: 1, trace })
  })

  test('of a retry are retried while there are tries left, and the last one has failed', async () => {
    const sequence = await pushed({ identifier: 'a', maxTries: 3 })
    for (const text of ['one', 'two', 'three']) await tried(retry({ afterMs: 0 }, text))
    const all = await attemptsOf(sequence)
    expect(all.map(({ attempt, outcome, reason, error }) => [attempt, outcome, reason, error])).toEqual([
      [1, 'retried', undefined, 'one'],
      [2, 'retried', undefined, 'two'],
      [3, 'failed', 'tries', 'three'],
    ])
    for (const { started, ended } of all) expect(ended.getTime() - started!.getTime()).toBe(1_000)
  })

  test('whose time is up are timeouts, whether the task fails or is retried', async () => {
    const sequence = await pushed('a')
    await tried(retry({ afterMs: 0 }, 'slow').because('timeout'))
    await tried(failure('slow').because('timeout'))
    expect(await attemptsOf(sequence)).toMatchObject([
      { attempt: 1, outcome: 'timeout', reason: 'timeout' },
      { attempt: 2, outcome: 'timeout', reason: 'timeout' },
    ])
  })

  test('that are snoozed or handed back leave nothing, as nobody has failed', async () => {
    const sequence = await pushed({ identifier: 'a', maxTries: 1 })
    await tried(snooze({ afterMs: 0 }, 'busy').because('timeout'))
    const held = await fixture.poll(1)
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, held))
    expect(await attemptsOf(sequence)).toEqual([])
    await tried(suspension())
    const all = await attemptsOf(sequence)
    expect(all).toEqual([
      { attempt: 3, started: expect.any(Date), ended: expect.any(Date), outcome: 'suspended', owner: fixture.tasks.owner },
    ])
  })

  test('of one batch are each recorded as its decision says, also where a transaction polls and completes them', async () => {
    for (const condition of ['none', 'singular-by-identifier'] as const) {
      for (const hold of ['lease', 'transaction'] as const) {
        await fixture.nextTopic({ condition, ...(hold === 'transaction' && { record: 'states' }) })
        const tasks = await fixture.push(...['a', 'b', 'c', 'd', 'e'].map((identifier) => ({ identifier, maxTries: 1 })))
        await fixture.commit(async (transaction) => {
          const held = await fixture.tasks.poll(transaction, fixture.topic, { size: 5, hold })
          const decisions = [
            failure('one'),
            success(),
            retry({ afterMs: 5 }, 'three'),
            suspension('four'),
            snooze({ afterMs: 5 }),
          ]
          await fixture.tasks.complete(transaction, fixture.topic, new Map(held.map((task, index) => [task, decisions[index]!])))
        })
        const all = await Promise.all(tasks.map(({ sequence }) => attemptsOf(sequence)))
        expect(all).toMatchObject([
          [{ attempt: 1, outcome: 'failed', error: 'one', owner: fixture.tasks.owner, started: clock.now(), ended: clock.now() }],
          [],
          [{ attempt: 1, outcome: 'failed', error: 'three', reason: 'tries' }],
          [{ attempt: 1, outcome: 'suspended', error: 'four' }],
          [],
        ])
      }
    }
  })

  test.each(['expired', 'ready'] as const)('of an owner that has died are lost, where its tasks become %s', async (then) => {
    const [first, second] = await fixture.push({ identifier: 'a', maxTries: 2 }, { identifier: 'b', maxTries: 1 })
    const started = clock.now()
    expect(await fixture.poll(2, rival)).toHaveLength(2)
    clock.advance(60_000)
    await fixture.commit((transaction) => fixture.tasks.heartbeat(transaction))
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 1_000, then }))
    const lost = {
      attempt: 1,
      started,
      ended: clock.now(),
      outcome: 'lost',
      reason: 'lease',
      owner: rival.owner,
      fingerprint: 'lost',
    }
    for (const { sequence } of [first!, second!]) expect(await attemptsOf(sequence)).toEqual([lost])
    if (then === 'expired') return
    await tried(failure('a'))
    expect(await outcomesOf(first!.sequence)).toEqual([
      [1, 'lost'],
      [2, 'failed'],
    ])
  })

  test('are kept when the task is redriven or reset, and go on counting', async () => {
    const sequence = await pushed('a')
    await tried(failure('one'))
    await fixture.commit((transaction) => fixture.tasks.redrive(transaction, fixture.topic))
    await tried(failure('two'))
    await fixture.commit((transaction) => fixture.tasks.recreate(transaction, fixture.topic, 'reset', { state: 'failed' }))
    await tried(success())
    expect((await attemptsOf(sequence)).map(({ attempt, error }) => [attempt, error])).toEqual([
      [1, 'one'],
      [2, 'two'],
    ])
  })

  test('that a transaction has rolled back were never made', async () => {
    const sequence = await pushed('a')
    const held = await fixture.poll(1)
    const rolledBack = fixture.commit(async (transaction) => {
      await fixture.tasks.complete(transaction, fixture.topic, new Map([[held[0]!, failure('no')]]))
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    expect(await attemptsOf(sequence)).toEqual([])
  })

  test('keep an error of 200 characters and a message of 4 000, whole characters all, and nothing that a database refuses', async () => {
    const strange = new Error(`a\0b\uD800 '"\\{}, ${'x'.repeat(400)}`)
    strange.stack = `${'y'.repeat(3_996)}${'😀'.repeat(9)}`
    const decisions = [
      failure(strange),
      failure(`\n\n${'😀'.repeat(150)}\nmore`),
      failure('\n'),
      failure("'); drop table task_attempt; --"),
    ]
    const tasks = await fixture.push('a', 'b', 'c', 'd')
    const held = await fixture.poll()
    await fixture.commit((transaction) =>
      fixture.tasks.complete(transaction, fixture.topic, new Map(held.map((task, index) => [task, decisions[index]!]))),
    )
    const [a, b, c, d] = (await Promise.all(tasks.map(({ sequence }) => attemptsOf(sequence)))).flat()
    const title = `Error: a\uFFFDb\uFFFD '"\\{}, `
    expect(a!.error).toBe(`${title}${'x'.repeat(197 - title.length)}...`)
    expect(a!.message).toBe(`${'y'.repeat(3_996)}...`)
    expect([b!.error, b!.message!.length]).toEqual([`${'😀'.repeat(98)}...`, 307])
    expect([c!.error, c!.message]).toEqual([undefined, '\n'])
    expect([d!.error, d!.message]).toEqual(["'); drop table task_attempt; --", "'); drop table task_attempt; --"])
  })

  test('keep the title of an error, but nothing that is not ASCII if the message is', async () => {
    const nameless = new Error('')
    const strange = new Error('日')
    for (const error of [nameless, strange]) error.stack = 'somewhere'
    const decisions = [
      failure('ärger').include(new Error('no money')),
      failure(new Error('日')).inAscii(),
      failure(new Error('日')),
      failure(nameless),
      failure('x'.repeat(200)),
      // Its message is in ASCII already, so `inAscii` would change nothing.
      failure(strange),
    ]
    const tasks = await fixture.push('a', 'b', 'c', 'd', 'e', 'f')
    const held = await fixture.poll()
    await fixture.commit((transaction) =>
      fixture.tasks.complete(transaction, fixture.topic, new Map(held.map((task, index) => [task, decisions[index]!]))),
    )
    const all = (await Promise.all(tasks.map(({ sequence }) => attemptsOf(sequence)))).flat()
    expect(all.map(({ error }) => error)).toEqual([
      'Error: no money',
      String.raw`Error: \u{65e5}`,
      'Error: 日',
      'Error',
      'x'.repeat(200),
      'somewhere',
    ])
  })

  test(
    'of thousands of tasks in one batch are recorded at once, whether they fail or are lost',
    { timeout: 15_000 },
    async () => {
      const count = 5_000
      for (const by of [fixture.tasks, rival]) {
        await fixture.nextTopic()
        await fixture.push(...Array.from({ length: count }, (_, index) => `t${index}`))
        const held = await fixture.poll(count, by)
        if (by === rival) {
          clock.advance(60_000)
          await fixture.commit((transaction) => fixture.tasks.heartbeat(transaction))
          await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 1_000 }))
        } else await fixture.complete(held, failure(new Error('no')))
        const outcome = by === rival ? 'lost' : 'failed'
        for (const { sequence } of [held[0]!, held.at(-1)!]) expect(await outcomesOf(sequence)).toEqual([[1, outcome]])
      }
    },
  )

  test('are those of one task: of no other, of none that does not exist, and of no topic that does not', async () => {
    const [a] = await fixture.push({ identifier: 'a', externalId: 'x' }, 'b')
    await tried(failure('a'))
    const others = await tried(failure('b'))
    expect(await attemptsOf(a!.sequence)).toMatchObject([{ error: 'a' }])
    expect(await attemptsOf(others.sequence)).toMatchObject([{ error: 'b' }])
    expect([await attemptsOf(0), await attemptsOf({ externalId: 'y' })]).toEqual([[], []])
    for (const which of [a!.sequence, { externalId: 'x' }])
      expect(await codeOf(() => attemptsOf(which, 'nowhere'))).toBe('TOPIC_UNKNOWN')
    for (const wrong of [-1, 0.5, Number.NaN, { externalId: '' }, null, 'x', undefined])
      expect(await codeOf(() => attemptsOf(wrong as number))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => attemptsOf(a!.sequence, ''))).toBe('ARGUMENT_INVALID')
    await fixture.nextTopic()
    expect(await attemptsOf(a!.sequence)).toEqual([])
  })
})
