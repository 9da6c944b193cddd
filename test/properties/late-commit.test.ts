/** Tasks of transactions that commit late are found, and in their producer's order, however far polls have gone meanwhile. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openSubject, canRun } from '../subject.ts'
import type { Session, Subject, Tasks } from '../subject.ts'

const names = (tasks: readonly HeldTask[]): string[] => tasks.map(({ identifier }) => identifier)

describe.skipIf(!canRun)('with a push held open', () => {
  let subject: Subject
  let tasks: Tasks
  let late: Session
  let topic = ''
  let count = 0
  beforeAll(async () => {
    subject = await openSubject()
    tasks = subject.tasks()
    await subject.transactions((transaction) => tasks.register(transaction))
    late = await subject.session()
  })
  afterAll(() => subject[Symbol.asyncDispose]())
  beforeEach(async () => {
    topic = `late-${count++}`
    await subject.transactions((transaction) => tasks.initialize(transaction, topic))
  })
  const push = (...identifiers: string[]): Promise<unknown> =>
    subject.transactions((transaction) => tasks.push(transaction, topic, identifiers))
  const poll = (size = 100): Promise<HeldTask[]> =>
    subject.transactions<HeldTask[]>((transaction) => tasks.poll(transaction, topic, { size }))
  const floor = async (): Promise<number> => {
    const [row] = await subject.transactions((transaction) =>
      subject.execute(transaction, sql`select floor from taskstream.task_topic where topic = ${topic}`),
    )
    return Number(row?.['floor'])
  }
  /** Pushes, polls and completes `total` tasks, which are more than enough for polls to raise and persist the low watermark. */
  const drain = async (total = 20_000): Promise<void> => {
    for (let done = 0; done < total; done += 1_000) {
      await push(...Array.from({ length: 1_000 }, (_, index) => `x${done + index}`))
      const batch = await poll(1_000)
      await subject.transactions((transaction) =>
        tasks.complete(transaction, topic, new Map(batch.map((task) => [task, TaskDecision.success()]))),
      )
    }
  }

  /** Drains until the floor has passed a sequence: transactions of others on the server, which are older, hold it back while they last. */
  const drainPast = (sequence: number): Promise<void> =>
    expect
      .poll(async () => {
        await drain(2_000)
        return await floor()
      })
      .toBeGreaterThan(sequence)

  test('the floor moves when nobody is late, or the tests below would show nothing', async () => {
    await drainPast(0)
  })

  for (const size of [1, 1_000]) {
    test(`a lower sequence that commits after ${size} higher ones and thousands of polls is found, before what its producer pushes next`, async () => {
      const identifiers = Array.from({ length: size }, (_, index) => `late ${index}`)
      await late.begin()
      await tasks.push(late.transaction, topic, identifiers)
      await drain()
      await late.commit()
      await push('next of the same producer')
      expect(names(await poll(size + 1))).toEqual([...identifiers, 'next of the same producer'])
    })
  }

  test('a higher sequence that commits late is found as well', async () => {
    await push('early')
    await late.begin()
    await tasks.push(late.transaction, topic, 'late')
    expect(names(await poll())).toEqual(['early'])
    expect(await poll()).toEqual([])
    await late.commit()
    expect(names(await poll())).toEqual(['late'])
  })

  test('a pusher that draws its sequence long before it writes is waited for', async () => {
    // A slow writer between drawing a sequence and having written: were its transaction id drawn only then, nobody could know of it.
    const gate = await subject.session()
    await gate.begin()
    await subject.execute(gate.transaction, raw('select pg_advisory_xact_lock(4711)'))
    await subject.transactions(async (transaction) => {
      await subject.execute(
        transaction,
        raw(`create function taskstream.wait() returns trigger language plpgsql as $$
             begin if new.identifier = 'slow' then perform pg_advisory_xact_lock(4711); end if; return new; end $$`),
      )
      await subject.execute(
        transaction,
        raw('create trigger wait before insert on taskstream.task for each row execute function taskstream.wait()'),
      )
    })
    await late.begin()
    const pushing = Promise.resolve(tasks.push(late.transaction, topic, 'slow'))
    const waiting = sql`select 1 from pg_locks where locktype = 'advisory' and not granted`
    await expect
      .poll(() => subject.transactions((transaction) => subject.execute(transaction, waiting)), { interval: 1 })
      .toHaveLength(1)
    await drain()
    await gate.commit()
    await pushing
    await late.commit()
    await subject.transactions((transaction) => subject.execute(transaction, raw('drop trigger wait on taskstream.task')))
    expect(names(await poll())).toEqual(['slow'])
  })

  test('one that rolls back leaves nothing, and holds nothing up', async () => {
    await late.begin()
    await tasks.push(late.transaction, topic, 'never')
    await drain(3_000)
    await late.rollback()
    await drain(20_000)
    expect(await poll()).toEqual([])
    await drainPast(0)
  })

  test('two polls in one transaction that rolls back lose nothing, wherever the floor is', async () => {
    await drain()
    await push('a', 'b', 'c', 'd')
    await late.begin()
    expect(names(await tasks.poll(late.transaction, topic, { size: 2 }))).toEqual(['a', 'b'])
    for (let again = 0; again < 5; again++) await tasks.poll(late.transaction, topic, { size: 1 })
    await late.rollback()
    expect(names(await poll())).toEqual(['a', 'b', 'c', 'd'])
  })

  test('a poll that rolls back while others poll on leaves its tasks to be found', async () => {
    await push('a', 'b')
    await late.begin()
    expect(names(await tasks.poll(late.transaction, topic, { size: 2 }))).toEqual(['a', 'b'])
    await drain()
    await late.rollback()
    expect(names(await poll())).toEqual(['a', 'b'])
  })

  test('a task far below the floor that is handed back, or was retried, comes first again', async () => {
    await push('a', 'b')
    const [a, b] = await poll()
    await drain()
    await drainPast(b!.sequence)
    await subject.transactions((transaction) => tasks.handBack(transaction, topic, [a!]))
    await subject.transactions((transaction) =>
      tasks.complete(transaction, topic, new Map([[b!, TaskDecision.retry({ afterMs: 0 })]])),
    )
    await subject.transactions((transaction) => tasks.promoteDue(transaction, topic))
    await push('z')
    expect(names(await poll(1))).toEqual(['a'])
    expect(names(await poll(1))).toEqual(['b'])
    expect(names(await poll(1))).toEqual(['z'])
  })

  test('a task held since before the floor moved is found when its owner dies, also after tidying', async () => {
    const dead = subject.tasks()
    await subject.transactions(async (transaction) => {
      await dead.register(transaction)
      await tasks.push(transaction, topic, ['a', 'b'])
      await dead.poll(transaction, topic, { size: 2 })
    })
    await drain(40_000)
    const holdings = async (): Promise<number> => {
      const [row] = await subject.transactions((transaction) =>
        subject.execute(transaction, sql`select count(*) as count from ${raw('taskstream.task_holding')} where topic = ${topic}`),
      )
      return Number(row?.['count'])
    }
    const before = await holdings()
    const expire = (): Promise<unknown> =>
      subject.transactions(async (transaction) => tasks.expire(transaction, { olderThanMs: 1_000_000, then: 'ready' }))
    expect(await expire()).toMatchObject({ ready: 0 })
    // What it tidied away was found by its listed rows instead.
    expect(await holdings()).toBeLessThan(before)
    await subject.transactions((transaction) => dead.unregister(transaction))
    expect(await expire()).toMatchObject({ ready: 2 })
    expect(names(await poll())).toEqual(['a', 'b'])
  })

  test('a long transaction that writes elsewhere does not hold the floor for good', async () => {
    await late.begin()
    await subject.execute(late.transaction, raw('create temporary table elsewhere (a int)'))
    await expect
      .poll(
        async () => {
          await drain(1_000)
          return floor()
        },
        { timeout: 60_000, interval: 1 },
      )
      .toBeGreaterThan(0)
    await late.rollback()
  })

  test('a reader of an old snapshot loses nothing for others', async () => {
    await push('a')
    const old = await subject.session()
    await subject.execute(old.transaction, raw('begin isolation level repeatable read'))
    await subject.execute(old.transaction, raw('select 1'))
    await late.begin()
    await tasks.push(late.transaction, topic, 'late')
    await drain(5_000)
    await late.commit()
    // Polls in the old snapshot may find nothing, or fail; what they learn must not hide the late task from others.
    for (let again = 0; again < 3; again++) await tasks.poll(old.transaction, topic, { size: 0 })
    await Promise.resolve(tasks.poll(old.transaction, topic, { size: 1 })).catch(() => {})
    await old.rollback()
    expect(names(await poll())).toContain('late')
  })

  test('a repository that knows nothing finds everything', async () => {
    await late.begin()
    await tasks.push(late.transaction, topic, 'late')
    await drain()
    await late.commit()
    const cold = subject.tasks()
    await subject.transactions((transaction) => cold.register(transaction))
    expect(names(await subject.transactions<HeldTask[]>((transaction) => cold.poll(transaction, topic, { size: 10 })))).toEqual([
      'late',
    ])
  })
})
