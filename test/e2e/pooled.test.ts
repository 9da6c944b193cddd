/** A node works behind a pooler in transaction mode, without the features of sessions that such a pooler takes away. */
import { TaskError } from '@taskstream/task-api'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { raw, sql } from '@taskstream/task-sql'
import { pgListener } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { useFixture } from '@taskstream/task-testing/suite'
import { startPgBouncer } from '../databases/pgbouncer.ts'
import { canRun, engine } from '../subject.ts'
import { soundSleeper } from './sound-sleeper.ts'

describe.skipIf(!canRun)('behind a pooler in transaction mode', () => {
  const fixture = useFixture(engine)
  /** The address of the server itself. */
  let direct = ''
  beforeAll(async () => {
    const url = new URL(process.env['TASKSTREAM_POSTGRES_SERVER'] ?? '')
    url.pathname = new URL(fixture.subject.location.at).pathname
    direct = url.href
  })

  const pooledClient = (): pg.Client => new pg.Client({ connectionString: fixture.subject.location.at })

  test('transactions of one client run on several connections of the server, or no test here would show anything', async () => {
    const session = await fixture.subject.session()
    const other = await fixture.subject.session()
    const pids = new Set<unknown>()
    await expect
      .poll(async () => {
        // While another transaction is open, there are two connections to choose from.
        await other.begin()
        await fixture.subject.execute(other.transaction, raw('select 1'))
        const [row] = await fixture.subject.execute(session.transaction, raw('select pg_backend_pid() as pid'))
        await other.commit()
        return pids.add(row?.['pid']).size
      })
      .toBeGreaterThan(1)
  })

  test('a listener that notified itself would be answered, and never hear another', async () => {
    const client = pooledClient()
    await client.connect()
    const heard: unknown[] = []
    client.on('notification', ({ payload }) => heard.push(payload))
    await client.query('listen fooled')
    // For this one statement, the client gets the server connection that listens. It answers with what it has heard.
    await expect
      .poll(async () => {
        await client.query(`notify fooled, 'from itself'`)
        return heard[0]
      })
      .toBe('from itself')
    const told = heard.length
    const other = new pg.Client({ connectionString: direct })
    await other.connect()
    await other.query(`notify fooled, 'from another'`)
    // A listener that is directly connected proves that the server has delivered it, as its own notification comes later.
    const witness = new pg.Client({ connectionString: direct })
    await witness.connect()
    const delivered = new Promise((resolve) => witness.once('notification', resolve))
    await witness.query('listen fooled')
    await other.query(`notify fooled, 'to the witness'`)
    await delivered
    expect(heard.slice(told)).toEqual([])
    await Promise.all([client.end(), other.end(), witness.end()])
  })

  test('a node whose listener is pooled says so once, and finds its tasks by polling', async () => {
    const reported: [activity: string, error: unknown][] = []
    await using node = new TaskNode({
      repository: fixture.subject.tasks(),
      transactions: fixture.subject.transactions,
      notifier: pgListener(pooledClient, { selfTestMs: 300 }),
      listener: { onError: ({ activity, error }) => void reported.push([activity, error]) },
    })
    node.process(fixture.topic, { handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(() => reported.length).toBeGreaterThan(0)
    for (const [index, identifier] of ['first', 'last'].entries()) {
      await fixture.push(identifier)
      await expect.poll(() => fixture.states()).toEqual({ succeeded: index + 1 })
    }
    await node.stop()
    expect(reported).toEqual([['listen', expect.any(TaskError)]])
    expect(reported[0]?.[1]).toMatchObject({ code: 'NOTIFICATIONS_UNDELIVERED', data: { selfTestMs: 300 } })
  })

  test('a node whose listener gave up looks as often as one that has none', async () => {
    let looks = 0
    const tasks = fixture.subject.tasks()
    const givenUp = Promise.withResolvers<void>()
    await using node = new TaskNode({
      repository: {
        ...tasks,
        poll: (...args: Parameters<typeof tasks.poll>) => {
          looks++
          return tasks.poll(...args)
        },
        peek: (...args: Parameters<typeof tasks.peek>) => {
          looks++
          return tasks.peek(...args)
        },
      },
      transactions: fixture.subject.transactions,
      notifier: pgListener(pooledClient, { selfTestMs: 300 }),
      listener: { onError: () => givenUp.resolve() },
    })
    node.process(fixture.topic, { handler: eachTask(() => {}) })
    await node.start()
    await givenUp.promise
    // Pauses double up to a second. With a notifier they would double up to 30 seconds, and so many looks would take too long.
    await expect.poll(() => looks, { timeout: 30_000 }).toBeGreaterThan(13)
  })

  test('a node whose listener goes straight to the server is woken by pushes through the pooler', async () => {
    const reported: unknown[] = []
    const { node, isAsleep } = soundSleeper({
      repository: fixture.subject.tasks(),
      transactions: fixture.subject.transactions,
      notifier: pgListener(() => new pg.Client({ connectionString: direct })),
      listener: { onError: (event) => void reported.push(event) },
    })
    await using _ = node
    node.process(fixture.topic, { handler: eachTask(() => {}) })
    await node.start()
    for (const [index, identifier] of ['first', 'last'].entries()) {
      await expect.poll(isAsleep).toBe(true)
      await fixture.push(identifier)
      await expect.poll(() => fixture.states()).toEqual({ succeeded: index + 1 })
    }
    await node.stop()
    expect(reported).toEqual([])
  })

  test('a listener that goes straight to the server passes its test and listens on', async () => {
    const reasons: TaskError[] = []
    const client = (): pg.Client => new pg.Client({ connectionString: direct, application_name: 'straight' })
    await using _ = await pgListener(client, { pingMs: 10 }).listen({
      onTasks: () => {},
      onGivenUp: (reason) => reasons.push(reason),
    })
    // The listener pings the server only after it has heard from itself.
    const last = (): Promise<readonly unknown[]> =>
      fixture.commit((transaction) =>
        fixture.subject.execute(transaction, sql`select query from pg_stat_activity where application_name = 'straight'`),
      )
    await expect.poll(last).toEqual([{ query: 'select pg_catalog.pg_notification_queue_usage()' }])
    expect(reasons).toEqual([])
  })

  test('a listener whose pooler has but one connection is not fooled by its own notification', async () => {
    await using narrow = await startPgBouncer(process.env['TASKSTREAM_POSTGRES_SERVER'] ?? '', 1)
    const url = new URL(narrow.url)
    url.pathname = new URL(direct).pathname
    const given = Promise.withResolvers<TaskError>()
    const notifier = pgListener(() => new pg.Client({ connectionString: url.href }), { selfTestMs: 300, pingMs: 10 })
    await using _ = await notifier.listen({ onTasks: () => {}, onGivenUp: given.resolve })
    expect(await given.promise).toMatchObject({ code: 'NOTIFICATIONS_UNDELIVERED' })
  })

  test('a listener that comes to be pooled as it connects again gives up then', async () => {
    let url = direct
    const reasons: TaskError[] = []
    let wakes = 0
    const notifier = pgListener(() => new pg.Client({ connectionString: url, application_name: 'moving' }), { selfTestMs: 300 })
    await using _ = await notifier.listen({
      onTasks: () => wakes++,
      onGivenUp: (reason) => reasons.push(reason),
    })
    await fixture.push('a')
    await expect.poll(() => wakes).toBeGreaterThan(0)
    expect(reasons).toEqual([])
    url = fixture.subject.location.at
    await fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'moving'`,
      ),
    )
    await expect.poll(() => reasons).toMatchObject([{ code: 'NOTIFICATIONS_UNDELIVERED' }])
  })
})
