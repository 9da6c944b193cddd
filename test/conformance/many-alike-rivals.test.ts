/** A completion waits for nobody who has locked other tasks: neither those between its own, nor the one behind the last. */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask } from '@taskstream/task-api'
import { nothing, raw, sql } from '@taskstream/task-sql'
import { useFixture } from '@taskstream/task-testing/suite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine, isMysql } from '../subject.ts'
import type { Session } from '../subject.ts'

const levels = ['read committed', 'repeatable read'] as const

describe.skipIf(!canRun).each(levels)('a completion at %s while another transaction has locked other tasks', (level) => {
  const fixture = useFixture(engine)
  const table = raw(isMysql ? 'task force index (primary)' : 'taskstream.task')
  let locker: Session
  let completer: Session
  beforeEach(async () => {
    locker = await fixture.subject.session()
    completer = await fixture.subject.session()
    const isolated = (): Promise<unknown> =>
      fixture.subject.execute(completer.transaction, raw(`set transaction isolation level ${level}`))
    await fixture.push(...Array.from({ length: 300 }, (_, index) => `t${index}`))
    // MariaDB is told before a transaction begins, and PostgreSQL afterwards.
    if (isMysql) {
      await isolated()
      await fixture.subject.execute(completer.transaction, raw('start transaction'))
    } else {
      await completer.begin()
      await isolated()
    }
    await locker.begin()
  })
  afterEach(async () => {
    for (const session of [completer, locker]) {
      await session.rollback()
      await session.close()
    }
  })

  const complete = async (tasks: readonly HeldTask[]): Promise<Completion> => {
    // A completion that waits for a lock fails, and does not wait for ever.
    const limit = raw(isMysql ? 'set innodb_lock_wait_timeout = 2' : `set local lock_timeout = '2s'`)
    await fixture.subject.execute(completer.transaction, limit)
    const decisions = new Map(tasks.map((task) => [task, TaskDecision.success()]))
    return (await fixture.tasks.complete(completer.transaction, fixture.topic, decisions)) as Completion
  }
  const lock = async ({ sequence }: HeldTask, end = nothing): Promise<number> => {
    const which = sql`topic = ${fixture.topic} and sequence = ${sequence} for update ${end}`
    return (await fixture.subject.execute(locker.transaction, sql`select sequence from ${table} where ${which}`)).length
  }

  test.each([
    ['behind its own, which follow each other', (index: number) => index < 299],
    ['between its own', (index: number) => index % 2 === 0],
    ['behind the only one of its own', (index: number) => index === 0],
  ] as const)('ends, if they are %s', async (_, isOwn) => {
    const held = await fixture.poll(300)
    for (const task of held.filter((_, index) => !isOwn(index))) await lock(task)
    const own = held.filter((_, index) => isOwn(index))
    expect(await complete(own)).toEqual({ completed: own, lost: [] })
  })

  test('leaves those that it has lost to others at once, at read committed', async () => {
    const held = await fixture.poll(300)
    const lost = [held[0]!, held[150]!, held.at(-1)!]
    await fixture.complete(lost, TaskDecision.failure())
    expect((await complete(held)).lost).toEqual(lost)
    // At the higher level the server keeps every lock.
    if (level === 'read committed') for (const task of lost) expect(await lock(task, raw('skip locked'))).toBe(1)
  })
})
