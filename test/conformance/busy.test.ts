/** SQLite has one writer at a time: a second writer gets an error with its own code, and has written nothing. */
import { TaskDecision } from '@taskstream/task-api'
import { limitTransactions } from '@taskstream/task-processor'
import { sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import type { SqliteDatabase } from '@taskstream/task-sql/better-sqlite3'
import { beforeAll, describe, expect, test } from 'vitest'
import { engine } from '../subject.ts'
import type { Session } from '../subject.ts'
import { codeOf, names, useFixture } from '@taskstream/task-testing/suite'

describe('a second writer', () => {
  const fixture = useFixture(engine)
  let writer: Session
  let other: Session
  beforeAll(async () => {
    writer = await fixture.subject.session()
    other = await fixture.subject.session()
  })

  test('is told by every verb that writes, and has written nothing', async () => {
    await fixture.push('a', 'b')
    const [a] = await fixture.poll(1)
    const dead = await fixture.owner()
    await fixture.poll(1, dead)
    await fixture.commit((transaction) => dead.unregister(transaction))
    await writer.begin()
    await fixture.tasks.push(writer.transaction, fixture.topic, 'c')
    const { transaction } = other
    const attempts: (() => unknown)[] = [
      () => fixture.tasks.push(transaction, fixture.topic, 'd'),
      () => fixture.tasks.push(transaction, fixture.topic, { identifier: 'd', externalId: 'd' }),
      () => fixture.tasks.poll(transaction, fixture.topic),
      () => fixture.tasks.complete(transaction, fixture.topic, new Map([[a!, TaskDecision.success()]])),
      () => fixture.tasks.handBack(transaction, fixture.topic, [a!]),
      () => fixture.tasks.reclaim(transaction, fixture.topic, []),
      () => fixture.tasks.expire(transaction, { olderThanMs: 1 }),
      () => fixture.tasks.initialize(transaction, 'new'),
      () => fixture.subject.tasks().register(transaction),
      () => fixture.tasks.heartbeat(transaction),
      () => fixture.tasks.unregister(transaction),
    ]
    for (const attempt of attempts) expect(await codeOf(attempt)).toBe('DATABASE_BUSY')
    // Readers are not blocked, and see the committed rows.
    expect(names((await fixture.tasks.page(transaction, fixture.topic)) as { identifier: string }[])).toEqual(['a', 'b'])
    await writer.commit()
    expect(await fixture.states()).toEqual({ active: 2, ready: 1 })
  })

  test('waits for its turn in a transaction of its own, and acts on what the first has done', async () => {
    await fixture.push('a', 'b')
    await writer.begin()
    expect(names((await fixture.tasks.poll(writer.transaction, fixture.topic)) as { identifier: string }[])).toEqual(['a'])
    let attempts = 0
    const source = sqliteTransactions({
      exec: (text: string): unknown => {
        if (text === 'begin immediate') attempts++
        return other.transaction.exec(text)
      },
      prepare: (text: string): unknown => other.transaction.prepare(text),
    })
    let began = false
    const waiting = source(() => {
      began = true
      return fixture.tasks.poll(other.transaction, fixture.topic, { size: 2 })
    })
    // The source tries again and again, and the event loop runs meanwhile.
    await expect.poll(() => attempts, { interval: 1 }).toBeGreaterThan(2)
    expect(began).toBe(false)
    await writer.commit()
    expect(names((await waiting) as { identifier: string }[])).toEqual(['b'])
  })

  test('that is given up before its turn comes is told who had it: another process, or another transaction of its own', async () => {
    await writer.begin()
    const source = sqliteTransactions(other.transaction as SqliteDatabase)
    const limited = limitTransactions(fixture.tasks as never, source as never, { statementTimeoutMs: 100 })
    const refused = limited(() => {})
    await expect(refused).rejects.toMatchObject({ code: 'DATABASE_BUSY', data: { shortOf: 'lock' } })
    await writer.commit()
    const gate = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const hanging = source(async () => {
      begun.resolve()
      await gate.promise
    })
    await begun.promise
    await expect(limited(() => {})).rejects.toMatchObject({ code: 'DATABASE_BUSY', data: { shortOf: 'connections' } })
    gate.resolve()
    await hanging
    expect(await limited(() => 'free')).toBe('free')
  })

  test('leaves the event loop free while it waits, and the patience of its connection as it is', async () => {
    await fixture.push('a')
    await writer.begin()
    const { transaction } = other
    // This timeout is longer than the source waits. If the driver waited for it, the source would have no time left to try again.
    transaction.exec('pragma busy_timeout = 15000')
    try {
      const waiting = sqliteTransactions(transaction as SqliteDatabase)(() => fixture.tasks.poll(transaction, fixture.topic))
      await new Promise((resolve) => setImmediate(resolve))
      await writer.commit()
      expect(names((await waiting) as { identifier: string }[])).toEqual(['a'])
      expect(transaction.prepare('pragma busy_timeout').get()).toEqual({ timeout: 15_000 })
    } finally {
      transaction.exec('pragma busy_timeout = 0')
    }
  })

  test('that waits for longer than it may is told so', async () => {
    await writer.begin()
    const impatient = sqliteTransactions(other.transaction as SqliteDatabase, { busyTimeoutMs: 20 })
    expect(await codeOf(() => impatient((transaction) => fixture.tasks.push(transaction, fixture.topic, 'never')))).toBe(
      'DATABASE_BUSY',
    )
    await writer.rollback()
    expect(await fixture.states()).toEqual({})
    await impatient(async (transaction) => void (await fixture.tasks.push(transaction, fixture.topic, 'now')))
    expect(await fixture.states()).toEqual({ ready: 1 })
  })
})
