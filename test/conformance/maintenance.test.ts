/** Maintenance of PostgreSQL's tables reports missing rights and exceeded time limits. */
import { raw, sql } from '@taskstream/task-sql'
import { codeOf, useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import { testOn } from '../test-on.ts'

describe.skipIf(!canRun)('maintenance on PostgreSQL', () => {
  const fixture = useFixture(engine)
  testOn(['postgres-18'])('refresh is for the owner and for who may maintain the table, and others are told', async () => {
    const ask = (text: string): Promise<unknown> =>
      fixture.commit((transaction) => fixture.subject.execute(transaction, raw(text)))
    const refresh = (): Promise<unknown> =>
      codeOf(() =>
        fixture.commit(async (transaction) => {
          await fixture.subject.execute(transaction, raw('set local role maintainer'))
          return fixture.tasks.refresh(transaction)
        }),
      )
    await ask('drop role if exists maintainer')
    await ask('create role maintainer; grant usage on schema taskstream to maintainer')
    try {
      expect(await refresh()).toBe('PERMISSION_DENIED')
      await ask('grant maintain on taskstream.task to maintainer')
      expect(await refresh()).toBeUndefined()
    } finally {
      await ask('drop owned by maintainer; drop role maintainer')
    }
  })

  test('limitStatements ends a statement that takes longer, and leaves a limit of the caller alone', async () => {
    const slow = fixture.commit(async (transaction) => {
      await fixture.tasks.limitStatements(transaction, 20)
      await fixture.subject.execute(transaction, sql`select pg_sleep(60)::text as slept`)
    })
    await expect(slow).rejects.toMatchObject({ code: '57014' })
    const own = await fixture.commit(async (transaction) => {
      await fixture.subject.execute(transaction, sql`set local statement_timeout = '5s'`)
      await fixture.tasks.limitStatements(transaction, 20)
      return [...(await fixture.subject.execute(transaction, sql`select current_setting('statement_timeout') as own`))]
    })
    expect(own).toEqual([{ own: '5s' }])
  })
})
