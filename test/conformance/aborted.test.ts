/** After an error or the server has ended a transaction of PostgreSQL, the errors of later statements and of the commit say so. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { codeOf, useFixture } from '@taskstream/task-testing/suite'
import { beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { testOn } from '../test-on.ts'

describe.skipIf(!canRun)('an aborted transaction', () => {
  const fixture = useFixture(engine)
  let held: HeldTask
  beforeEach(async () => {
    await fixture.push('held', 'ready')
    held = (await fixture.poll(1))[0]!
  })

  test('a transaction that an earlier error has aborted is named as one', async () => {
    const session = await fixture.subject.session()
    await session.begin()
    await fixture.subject.execute(session.transaction, raw('select 1 / 0')).catch(() => {})
    expect(await codeOf(() => fixture.tasks.push(session.transaction, fixture.topic, 'a'))).toBe('TRANSACTION_CLOSED')
    await session.rollback()
    // A commit of a transaction that has failed is not reported as a success.
    const swallowed = fixture.commit(async (transaction) => {
      await fixture.tasks.push(transaction, fixture.topic, 'a')
      await fixture.subject.execute(transaction, raw('select 1 / 0')).catch(() => {})
    })
    await expect(swallowed).rejects.toMatchObject({ code: 'TRANSACTION_CLOSED' })
    expect(await fixture.states()).toEqual({ active: 1, ready: 1 })
  })

  testOn(['postgres'])('a database that goes away in the middle of a batch leaves nothing half done', async () => {
    const session = await fixture.subject.session()
    await session.begin()
    await fixture.tasks.push(
      session.transaction,
      fixture.topic,
      Array.from({ length: 1_000 }, (_, index) => `t${index}`),
    )
    const [row] = await fixture.subject.execute(session.transaction, raw('select pg_backend_pid() as pid'))
    await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, raw(`select pg_terminate_backend(${Number(row?.['pid'])}, 5000)`)),
    )
    const code = await codeOf(() =>
      fixture.tasks.complete(session.transaction, fixture.topic, new Map([[held, TaskDecision.success()]])),
    )
    expect(code).toBe('DATABASE_UNAVAILABLE')
    expect(await fixture.states()).toEqual({ active: 1, ready: 1 })
  })
})
