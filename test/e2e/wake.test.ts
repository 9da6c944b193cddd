/** A notification from another connection wakes a sleeping node or scheduler. */
import type { PushedTask, TaskNotifier } from '@taskstream/task-api'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import type { TaskListener } from '@taskstream/task-processor'
import { testClock } from '@taskstream/task-testing'
import { PeriodicScheduler, periodicTasks } from '@taskstream/task-scheduler'
import { raw } from '@taskstream/task-sql'
import { openBetterSqlite3, sqliteListener } from '@taskstream/task-sql/better-sqlite3'
import { openNodeSqlite } from '@taskstream/task-sql/node-sqlite'
import { pgListener } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startRefusing } from '../databases/refusing.ts'
import { canRun, isPostgres, openSubject, subjectName } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { soundSleeper } from './sound-sleeper.ts'
import type { SoundSleeper } from './sound-sleeper.ts'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'

const aDay = 86_400_000

describe.skipIf(!canRun)('a node that sleeps', () => {
  let subject: Subject
  let tasks: Tasks
  let topic = ''
  let count = 0
  beforeAll(async () => void (subject = await openSubject()))
  afterAll(() => subject[Symbol.asyncDispose]())
  beforeEach(async () => {
    topic = `wake-${count++}`
    tasks = subject.tasks()
    await subject.transactions((transaction) => tasks.initialize(transaction, topic))
  })

  const notifierOf = async (): Promise<TaskNotifier> => {
    const { at } = subject.location
    if (subject.engine === 'postgres') return pgListener(() => new pg.Client({ connectionString: at }))
    return sqliteListener(subjectName === 'node-sqlite' ? await openNodeSqlite(at) : await openBetterSqlite3(at), { everyMs: 5 })
  }
  const push = async (identifier: string): Promise<void> => {
    const elsewhere = await subject.session()
    await elsewhere.begin()
    await tasks.push(elsewhere.transaction, topic, identifier)
    await elsewhere.commit()
  }

  const sleeper = (notifier: TaskNotifier, listener: TaskListener = {}): SoundSleeper =>
    soundSleeper({ repository: tasks, transactions: subject.transactions, notifier, listener })

  test('is woken by a push of another connection as it commits', async () => {
    const handled: string[] = []
    const { node, isAsleep } = sleeper(await notifierOf())
    await using _ = node
    node.process(topic, { handler: eachTask(({ identifier }) => void handled.push(identifier)) })
    await node.start()
    await expect.poll(isAsleep).toBe(true)
    await push('a')
    await expect.poll(() => handled).toEqual(['a'])
  })

  test.each<[string, (transaction: AnyTransaction, task: PushedTask) => unknown]>([
    ['rescheduled', (transaction, { sequence }) => tasks.reschedule(transaction, topic, sequence, { delayMs: 0 })],
    ['reset', (transaction, task) => tasks.recreate(transaction, topic, 'reset', [task])],
    ['recreated', (transaction, task) => tasks.recreate(transaction, topic, 'append', [task])],
    ['redriven', (transaction) => tasks.redrive(transaction, topic, { states: ['delayed'] })],
  ])('is woken when another connection has %s a task that waited', async (_, change) => {
    const handled: string[] = []
    const [task] = await subject.transactions<PushedTask[]>((transaction) =>
      tasks.push(transaction, topic, { identifier: 'a', delayMs: aDay }),
    )
    const { node, isAsleep } = sleeper(await notifierOf())
    await using _node = node
    node.process(topic, { handler: eachTask(({ identifier }) => void handled.push(identifier)) })
    await node.start()
    await expect.poll(isAsleep).toBe(true)
    const elsewhere = await subject.session()
    await elsewhere.begin()
    await change(elsewhere.transaction, task!)
    await elsewhere.commit()
    await expect.poll(() => handled).toEqual(['a'])
  })

  test('is woken when another connection has started a task at a junction', async () => {
    const handled: string[] = []
    topic = `${topic}-keyed`
    await subject.transactions(async (transaction) => {
      await tasks.initialize(transaction, topic, { keyed: true })
      await tasks.push(transaction, topic, { identifier: 'a', suspended: true })
    })
    const { node, isAsleep } = sleeper(await notifierOf())
    await using _ = node
    node.process(topic, { handler: eachTask(({ identifier }) => void handled.push(identifier)) })
    await node.start()
    await expect.poll(isAsleep).toBe(true)
    const elsewhere = await subject.session()
    await elsewhere.begin()
    await tasks.junction(elsewhere.transaction, topic, 'singular', [['a']])
    await elsewhere.commit()
    await expect.poll(() => handled).toEqual(['a'])
  })

  testOn(['postgres', 'sqlite-file', 'node-sqlite'])(
    'is woken by a timer of another connection, where it fires them',
    async () => {
      const fired = Promise.withResolvers<string>()
      await using scheduler = new PeriodicScheduler<AnyTransaction>({
        repository: tasks,
        transactions: subject.transactions,
        notifier: await notifierOf(),
        pollIntervalMs: 600_000,
        listener: { onFired: ({ timer }) => fired.resolve(timer.id) },
      })
      await scheduler.start()
      const elsewhere = await subject.session()
      // If a notifier tells only that something has changed, the scheduler ignores it for a second after each look.
      let count = 0
      const keepOn = async (): Promise<string | undefined> => {
        await elsewhere.begin()
        await periodicTasks(tasks).schedule(elsewhere.transaction, { id: `timer ${count++}`, timer: '*:*:*', topic })
        await elsewhere.commit()
        return Promise.race([fired.promise, undefined])
      }
      await expect.poll(keepOn, { interval: 100 }).toMatch(/^timer/)
    },
  )

  testOn(['postgres'])('hears again after its listening connection was lost, and misses nothing meanwhile', async () => {
    const { at } = subject.location
    const handled: string[] = []
    const told: string[] = []
    let isAway = false
    const connect = (): pg.Client => {
      if (isAway) throw new Error('The server cannot be reached')
      return new pg.Client({ connectionString: at })
    }
    const { node, isAsleep } = sleeper(pgListener(connect), {
      onError: ({ activity }) => void told.push(`${activity} failed`),
      onRecovered: ({ activity }) => void told.push(`${activity} recovered`),
    })
    await using _ = node
    node.process(topic, { handler: eachTask(({ identifier }) => void handled.push(identifier)) })
    await node.start()
    await expect.poll(isAsleep).toBe(true)
    isAway = true
    await subject.transactions((transaction) =>
      subject.execute(
        transaction,
        raw(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' and datname = current_database()`),
      ),
    )
    await expect.poll(() => told).toEqual(['listen failed'])
    // The loss wakes the node once. It sleeps again before the push, of which nobody tells it.
    await expect.poll(isAsleep).toBe(true)
    await push('a')
    isAway = false
    await expect.poll(() => handled, { timeout: 20_000 }).toEqual(['a'])
    expect(told).toEqual(['listen failed', 'listen recovered'])
    await expect.poll(isAsleep).toBe(true)
    await push('b')
    await expect.poll(() => handled).toEqual(['a', 'b'])
  })

  testOn(['postgres'])('says that its listening connection is lost, polls as without one, and says when it is back', async () => {
    await using proxy = await startRefusing(subject.location.at)
    const told: string[] = []
    const errors: unknown[] = []
    const polls: number[] = []
    const handled: string[] = []
    const clock = testClock(new Date())
    await using node = new TaskNode({
      repository: {
        ...tasks,
        poll: (...args: Parameters<Tasks['poll']>) => (polls.push(clock.monotonicMs()), tasks.poll(...args)),
        // When nothing has come for a while, the node looks at all its topics instead.
        peek: (...args: Parameters<Tasks['peek']>) => (polls.push(clock.monotonicMs()), tasks.peek(...args)),
      },
      transactions: subject.transactions,
      notifier: pgListener(() => new pg.Client({ connectionString: proxy.url })),
      clock,
      heartbeatIntervalMs: aDay,
      leaseMs: 3 * aDay,
      maintenanceIntervalMs: aDay,
      listener: {
        onError: ({ activity, error }) => (told.push(`${activity} failed`), errors.push(error)),
        onRecovered: ({ activity }) => void told.push(`${activity} recovered`),
      },
    })
    node.process(topic, { handler: eachTask(({ identifier }) => void handled.push(identifier)) })
    await node.start()
    await proxy.refuse()
    await expect.poll(() => told).toEqual(['listen failed'])
    expect(errors).toMatchObject([{ code: 'DATABASE_UNAVAILABLE', message: expect.stringContaining('listens') }])
    // The node sleeps for less than the half minute that a notifier would allow.
    for (let seconds = 0; seconds < 20; seconds++) {
      const before = polls.length
      await expect.poll(() => (clock.advance(250), polls.length)).toBeGreaterThan(before)
    }
    const pauses = polls.slice(1).map((at, index) => at - polls[index]!)
    expect(Math.max(...pauses.slice(-10))).toBeLessThan(5_000)
    await push('a')
    await expect.poll(() => (clock.advance(250), handled)).toEqual(['a'])
    proxy.accept()
    await expect.poll(() => told, { timeout: 60_000 }).toEqual(['listen failed', 'listen recovered'])
    await push('b')
    await expect.poll(() => handled).toEqual(['a', 'b'])
  })

  testOn(['sqlite-file', 'node-sqlite'])(
    'says that the file cannot be looked at any more, and polls as without a listener',
    async () => {
      const told: string[] = []
      const listening =
        subjectName === 'node-sqlite' ? await openNodeSqlite(subject.location.at) : await openBetterSqlite3(subject.location.at)
      const handled: string[] = []
      await using node = new TaskNode({
        repository: tasks,
        transactions: subject.transactions,
        notifier: sqliteListener(listening, { everyMs: 5 }),
        listener: { onError: ({ activity }) => void told.push(activity) },
      })
      node.process(topic, { handler: eachTask(({ identifier }) => void handled.push(identifier)) })
      await node.start()
      listening.close()
      await expect.poll(() => told).toEqual(['listen'])
      await push('a')
      await expect.poll(() => handled).toEqual(['a'])
      expect(told).toEqual(['listen'])
    },
  )

  test('hears at once that its topic is not to be processed, as that commits, and again that it is', async () => {
    const { node, clock } = sleeper(await notifierOf())
    await using _ = node
    const manager = node.process(topic, { handler: eachTask(() => {}) })
    await node.start()
    // A listener that tells no topics has the node look once a second at most. The node's own looks come once a day.
    const moved = (): boolean => {
      if (!isPostgres) clock.advance(1_000)
      return manager.isActive
    }
    for (const active of [false, true]) {
      const elsewhere = await subject.session()
      // On a file the node may be writing: its maintenance is not stopped.
      await expect.poll(() => elsewhere.begin().then(() => 'begun', String)).toBe('begun')
      await (active ? tasks.activate : tasks.deactivate)(elsewhere.transaction, topic)
      expect(manager.isActive).toBe(!active)
      await elsewhere.commit()
      await expect.poll(moved).toBe(active)
    }
  })

  testOn(['postgres'])('is told of changes that commit, of no others, and of what it may have missed', async () => {
    const told: (string | undefined)[] = []
    await using _ = await (
      await notifierOf()
    ).listen({
      onTasks: () => {},
      onActivation: (changed) => void told.push(changed),
    })
    const say = (active: boolean, undo?: Error): Promise<unknown> =>
      subject
        .transactions(async (transaction) => {
          await (active ? tasks.activate : tasks.deactivate)(transaction, topic)
          if (undo) throw undo
        })
        .catch((error: unknown) => expect(error).toBe(undo))
    await say(false, new Error('rolled back'))
    await say(false)
    await say(false)
    await say(true)
    await expect.poll(() => told).toEqual([topic, topic])
    await subject.transactions((transaction) =>
      subject.execute(
        transaction,
        raw(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' and datname = current_database()`),
      ),
    )
    await expect.poll(() => told).toEqual([topic, topic, undefined])
  })
})
