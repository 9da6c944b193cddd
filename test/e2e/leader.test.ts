/** One node of a group leads, and whoever led before can commit nothing. */
import type { Execution } from '@taskstream/task-api'
import { coordinated, Leader } from '@taskstream/task-coordination'
import type { CoordinatedListener, CoordinationDatabase } from '@taskstream/task-coordination'
import { mariadbDatabase } from '@taskstream/task-coordination/mysql2'
import { postgresqlDatabase } from '@taskstream/task-coordination/pg'
import { sql } from '@taskstream/task-sql'
import { testClock } from '@taskstream/task-testing'
import { codeOf } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine, isMysql, isPostgres } from '../subject.ts'
import type { AnyTransaction, Session } from '../subject.ts'
import { useLeaderFixture } from './leader-fixture.ts'
import type { TestedLeader } from './leader-fixture.ts'

/** The server has closed its connection by then. */
function disposable(session: Session): Session & AsyncDisposable {
  return { ...session, [Symbol.asyncDispose]: () => session.close().catch(() => {}) }
}

describe.skipIf(!canRun)('of the nodes of a group', () => {
  const fixture = useLeaderFixture()
  /** Writes in a term, whatever the node believes. */
  const writtenIn = (node: TestedLeader, term: number): Promise<void> =>
    fixture.transactions<void>(async (transaction) => {
      await fixture.write(transaction, 'late')
      await node.check(transaction, term)
    })

  test('the first one leads in the first term, and the others stand by', async () => {
    const [first, second] = [fixture.node(), fixture.node()]
    await first.start()
    await second.start()
    expect([first.term, second.term]).toEqual([1, undefined])
    await Promise.all([first.stop(), second.stop()])
  })

  test('another one leads at once when the leader stops, in the next term', async () => {
    const [first, second] = [fixture.node(), fixture.node()]
    await first.start()
    await second.start()
    await first.stop()
    await expect.poll(() => second.term).toBe(2)
    await second.stop()
  })

  test('another one takes over from a leader that is silent', async () => {
    // A clock that stands still lets the first one believe that it leads for ever.
    const clock = testClock(new Date())
    const [first, second] = [fixture.node({ clock }), fixture.node({ livenessCheckIntervalMs: 1_000 })]
    await first.start()
    await second.start()
    await expect.poll(() => second.term).toBeGreaterThan(1)
    expect(first.term).toBe(1)
    await Promise.all([first.stop(), second.stop()])
  })

  test('a former leader commits nothing, though it believes that it leads', async () => {
    const [first, second] = [fixture.node({ clock: testClock(new Date()) }), fixture.node({ livenessCheckIntervalMs: 1_000 })]
    await first.start()
    await second.start()
    expect(await second.run(({ transaction }) => transaction((tx) => fixture.write(tx, 'second').then(() => 'written')))).toBe(
      'written',
    )
    const late = first.transaction((transaction) => fixture.write(transaction, 'first'))
    expect(await codeOf(() => late)).toBe('LEADERSHIP_LOST')
    expect(await fixture.written()).toEqual(['second'])
    expect(first.term).toBeUndefined()
    await Promise.all([first.stop(), second.stop()])
  })

  test('a node takes over from its former self, which can commit nothing any more', async () => {
    const former = fixture.node({ taskId: 'one', clock: testClock(new Date()) })
    await former.start()
    const later = fixture.node({ taskId: 'one' })
    await later.start()
    expect(later.term).toBe(2)
    expect(await codeOf(() => former.transaction(() => {}))).toBe('LEADERSHIP_LOST')
    await Promise.all([former.stop(), later.stop()])
  })

  test('a process whose id another one has taken is told so, stands by, and takes over when that one is gone', async () => {
    const errors: unknown[] = []
    const former = fixture.node({ taskId: 'one', listener: { onError: (error) => errors.push(error) } })
    await former.start()
    const later = fixture.node({ taskId: 'one' })
    await later.start()
    expect(later.term).toBe(2)
    await expect.poll(() => errors).toMatchObject([{ code: 'TASK_ID_TAKEN' }])
    expect(former.term).toBeUndefined()
    await later.stop()
    await expect.poll(() => former.term).toBe(3)
    expect(errors).toHaveLength(1)
    await former.stop()
  })

  test('a leader whose term somebody has changed by hand commits nothing, and takes over in a later one', async () => {
    const node = fixture.node({ livenessCheckIntervalMs: 500, listener: { onError: () => {} } })
    await node.start()
    await fixture.execute(sql`update token_holder set term = 7 where group_id = ${fixture.groupId}`)
    expect(await codeOf(() => writtenIn(node, 1))).toBe('LEADERSHIP_LOST')
    await expect.poll(() => node.term).toBeGreaterThan(7)
    await node.stop()
  })

  test('a leader whose row was deleted or restored commits nothing in its term, and a greater one begins', async () => {
    const node = fixture.node()
    await node.start()
    const { groupId } = fixture
    await fixture.execute(sql`delete from token_holder where group_id = ${groupId}`)
    expect(await codeOf(() => writtenIn(node, 1))).toBe('LEADERSHIP_LOST')
    await expect.poll(() => node.term).toBe(2)
    await fixture.execute(sql`update token_holder set term = 1 where group_id = ${groupId}`)
    expect(await codeOf(() => writtenIn(node, 2))).toBe('LEADERSHIP_LOST')
    await expect.poll(() => node.term).toBe(3)
    expect(await fixture.written()).toEqual([])
    await node.stop()
  })

  test('a leader whose heartbeat was deleted leads on, or another one does, in a term of its own', async () => {
    const nodes = [fixture.node(), fixture.node()]
    for (const node of nodes) await node.start()
    await fixture.execute(sql`delete from health_check where group_id = ${fixture.groupId}`)
    const terms = (): (number | undefined)[] => nodes.map(({ term }) => term)
    await expect.poll(() => terms().filter((term) => term !== undefined)).toHaveLength(1)
    await Promise.all(nodes.map((node) => node.transaction((tx) => fixture.write(tx, 'line')).catch(() => {})))
    expect(await fixture.written()).toEqual(['line'])
    await Promise.all(nodes.map((node) => node.stop()))
  })

  test('work runs while its node leads, and anew when it leads again', async () => {
    const clock = testClock(new Date())
    const node = fixture.node({ clock })
    await node.start()
    const begun: number[] = []
    const running = node.run(async ({ term, signal }) => {
      begun.push(term)
      if (term > 1) return 'done'
      const { promise, reject } = Promise.withResolvers<never>()
      signal.addEventListener('abort', () => reject(signal.reason as Error))
      return promise
    })
    await expect.poll(() => begun).toEqual([1])
    // No heartbeat has come through in this time.
    clock.advance(60_000)
    expect(await running).toBe('done')
    expect(begun).toEqual([1, 2])
    await node.stop()
  })

  test('what work throws while its node leads is thrown, and nothing runs after a stop', async () => {
    const node = fixture.node()
    await node.start()
    await expect(node.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    const waiting = fixture.node()
    await waiting.start()
    const never = waiting.run(() => {})
    await Promise.all([waiting.stop(), expect(never).rejects.toMatchObject({ code: 'LIFECYCLE' })])
    await node.stop()
  })

  test.skipIf(engine.connections < 2 || engine.writers < 2)(
    'nobody takes over while a transaction of the leader is under way, and nobody waits for it',
    async () => {
      const node = fixture.node()
      await node.start()
      const inside = Promise.withResolvers<void>()
      const goOn = Promise.withResolvers<void>()
      const writing = fixture.transactions(async (transaction: AnyTransaction) => {
        await node.check(transaction)
        inside.resolve()
        await goOn.promise
        await fixture.write(transaction, 'leader')
      })
      await inside.promise
      const { groupId, coordination } = fixture
      const rival = { groupId, taskId: 'rival' }
      const takeOver = (): Promise<unknown> =>
        fixture.transactions<unknown>((transaction) =>
          coordination.takeOver(transaction, rival, 2, { taskId: node.member.taskId, term: 1 }),
        )
      expect(await takeOver()).toBe('busy')
      // Several transactions of the leader do not wait for each other.
      await node.transaction((transaction) => fixture.write(transaction, 'second'))
      goOn.resolve()
      await writing
      expect(await fixture.written()).toEqual(['leader', 'second'])
      await node.stop()
    },
  )

  test.skipIf(engine.connections < 2 || engine.writers < 2)(
    'a node whose connection was cut in the middle of a heartbeat sends others, as the server lets go of that one',
    async () => {
      await using session = disposable(await fixture.subject.session())
      const never = new Promise<never>(() => {})
      let isCut = false
      const node = fixture.node({
        livenessCheckIntervalMs: 1_000,
        listener: { onError: () => {} },
        transactions: async (work, options) => {
          if (!isCut) return fixture.transactions(work, options)
          isCut = false
          await session.begin()
          await work(session.transaction)
          return never
        },
      })
      await node.start()
      isCut = true
      await expect.poll(() => isCut).toBe(false)
      const heartbeat = async (): Promise<unknown> =>
        (await fixture.transactions((transaction) => fixture.coordination.leader(transaction, node.member)))?.heartbeat
      const last = await heartbeat()
      await expect.poll(heartbeat).not.toBe(last)
      await node.stop()
    },
  )

  test.skipIf(!isPostgres)('a transaction may idle no longer than a leadership holds, nor than the server allows', async () => {
    const node = fixture.node()
    await node.start()
    const limits: unknown[] = []
    for (const limit of ['0', '250ms', '1h'])
      await fixture.transactions(async (transaction) => {
        const { execute } = fixture.subject
        await execute(transaction, sql`select pg_catalog.set_config('idle_in_transaction_session_timeout', ${limit}, true)`)
        await node.check(transaction)
        const [row] = await execute(transaction, sql`select current_setting('idle_in_transaction_session_timeout') as now`)
        limits.push(row?.['now'])
      })
    // 60 000 ms without three heartbeats.
    expect(limits).toEqual(['59700ms', '250ms', '59700ms'])
    await node.stop()
  })

  test('two that stand by take over from the same leader only once', async () => {
    const { groupId, coordination, transactions } = fixture
    await fixture.node({ taskId: 'maker' }).start()
    await fixture.execute(sql`update token_holder set task_id = 'former', term = 3 where group_id = ${groupId}`)
    const seen = { taskId: 'former', term: 3, heartbeat: null }
    const outcomes = await Promise.all(
      ['a', 'b', 'c'].map((taskId) =>
        transactions<unknown>((transaction) => coordination.takeOver(transaction, { groupId, taskId }, 4, seen)),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(1)
  })

  test('a leader that has sent a heartbeat since it was seen is not followed', async () => {
    const { groupId, coordination, transactions } = fixture
    const node = fixture.node()
    await node.start()
    await node.stop({ graceMs: 0 })
    const member = node.member
    await transactions<void>((transaction) => coordination.beat(transaction, member))
    const seen = await transactions((transaction) => coordination.leader(transaction, member))
    expect(seen).toMatchObject({ taskId: member.taskId, term: 1 })
    await expect
      .poll(async () => {
        await transactions<void>((transaction) => coordination.beat(transaction, member))
        return (await transactions((transaction) => coordination.leader(transaction, member)))?.heartbeat
      })
      .not.toBe(seen!.heartbeat)
    const rival = { groupId, taskId: 'rival' }
    const takeOver = (): Promise<unknown> =>
      transactions<unknown>((transaction) => coordination.takeOver(transaction, rival, 2, seen))
    expect(await takeOver()).toBe('changed')
  })

  test('the services of a listener run on the node that leads, and on another one once that has stopped', async () => {
    const ran: string[] = []
    const listenerOf = (taskId: string): CoordinatedListener<AnyTransaction> => {
      const { repository, transactions, groupId } = fixture
      const listener = coordinated<AnyTransaction, Execution>(
        { trigger: { intervalMs: 20, onError: 'log-and-continue' } },
        { repository, transactions, groupId, taskId, livenessCheckIntervalMs: 60_000, heartbeatIntervalMs: 100 },
      )
      listener.attach(() => void ran.push(taskId), 'report')
      return listener
    }
    await using first = listenerOf('first')
    await using second = listenerOf('second')
    await first.start()
    await second.start()
    await expect.poll(() => ran.length).toBeGreaterThan(3)
    expect(new Set(ran)).toEqual(new Set(['first']))
    await first.gracefulStop()
    const before = ran.length
    await expect.poll(() => ran.length).toBeGreaterThan(before + 3)
    expect(new Set(ran.slice(before))).toEqual(new Set(['second']))
  })

  test.skipIf(!isPostgres && !isMysql)('connection settings are enough for a node', async () => {
    const { hostname, port, username, password, pathname } = new URL(fixture.subject.location.at)
    const settings = {
      host: hostname,
      port: Number(port),
      user: decodeURIComponent(username),
      database: pathname.slice(1),
      ...(password !== '' && { password: decodeURIComponent(password) }),
    }
    const database = isPostgres ? postgresqlDatabase(settings) : mariadbDatabase(settings)
    const leader = new Leader({ ...(database as CoordinationDatabase<unknown>), groupId: fixture.groupId, taskId: 'alone' })
    await leader.start()
    expect(leader.term).toBe(1)
    await leader.stop()
    await expect(database.transactions(() => {})).rejects.toThrow()
  })
})
