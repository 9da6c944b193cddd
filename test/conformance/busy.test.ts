/** SQLite has one writer at a time: the second is told so by name, and has written nothing. */
import { TaskDecision } from '@taskstream/task-api'
import { sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import type { SqliteDatabase } from '@taskstream/task-sql/better-sqlite3'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Session } from '../subject.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe('a second writer', () => {
  let it: Fixture
  let writer: Session
  let other: Session
  beforeAll(async () => {
    it = await openFixture()
    writer = await it.subject.session()
    other = await it.subject.session()
  })
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(() => it.nextTopic())

  test('is told by every verb that writes, and has written nothing', async () => {
    await it.push('a', 'b')
    const [a] = await it.poll(1)
    const dead = await it.owner()
    await it.poll(1, dead)
    await it.commit((transaction) => dead.unregister(transaction))
    await writer.begin()
    await it.tasks.push(writer.transaction, it.topic, 'c')
    const { transaction } = other
    const attempts: (() => unknown)[] = [
      () => it.tasks.push(transaction, it.topic, 'd'),
      () => it.tasks.push(transaction, it.topic, { identifier: 'd', externalId: 'd' }),
      () => it.tasks.poll(transaction, it.topic),
      () => it.tasks.complete(transaction, it.topic, new Map([[a!, TaskDecision.success()]])),
      () => it.tasks.handBack(transaction, it.topic, [a!]),
      () => it.tasks.reclaim(transaction, it.topic, []),
      () => it.tasks.expire(transaction, { olderThanMs: 1 }),
      () => it.tasks.initialize(transaction, 'new'),
      () => it.subject.tasks().register(transaction),
      () => it.tasks.heartbeat(transaction),
      () => it.tasks.unregister(transaction),
    ]
    for (const attempt of attempts) expect(await codeOf(attempt)).toBe('DATABASE_BUSY')
    // Readers are not kept out, and see what was committed.
    expect(names((await it.tasks.page(transaction, it.topic)) as { identifier: string }[])).toEqual(['a', 'b'])
    await writer.commit()
    expect(await it.states()).toEqual({ active: 2, ready: 1 })
  })

  test('waits for its turn in a transaction of its own, and acts on what the first has done', async () => {
    await it.push('a', 'b')
    await writer.begin()
    expect(names((await it.tasks.poll(writer.transaction, it.topic)) as { identifier: string }[])).toEqual(['a'])
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
      return it.tasks.poll(other.transaction, it.topic, { size: 2 })
    })
    // It tries again and again, and the event loop turns meanwhile.
    await expect.poll(() => attempts, { interval: 1 }).toBeGreaterThan(2)
    expect(began).toBe(false)
    await writer.commit()
    expect(names((await waiting) as { identifier: string }[])).toEqual(['b'])
  })

  test('leaves the event loop free while it waits, and the patience of its connection as it is', async () => {
    await it.push('a')
    await writer.begin()
    const { transaction } = other
    // Longer than the source waits: were the driver asked to wait, the source would be out of time when it comes back.
    transaction.exec('pragma busy_timeout = 15000')
    try {
      const waiting = sqliteTransactions(transaction as SqliteDatabase)(() => it.tasks.poll(transaction, it.topic))
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
    expect(await codeOf(() => impatient((transaction) => it.tasks.push(transaction, it.topic, 'never')))).toBe('DATABASE_BUSY')
    await writer.rollback()
    expect(await it.states()).toEqual({})
    await impatient(async (transaction) => void (await it.tasks.push(transaction, it.topic, 'now')))
    expect(await it.states()).toEqual({ ready: 1 })
  })
})
