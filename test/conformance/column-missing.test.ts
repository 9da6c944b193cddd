/** A process that only pushes reads no version. Tables of an earlier release are named by the first statement that they do not know; and so is an index that somebody has dropped. */
import { raw } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, engine, isPostgres } from '../subject.ts'
import { codeOf, openFixture } from '@taskstream/task-testing/suite'

const task = isPostgres ? 'taskstream.task' : 'task'

describe.skipIf(!canRun)('tables without a column of this release', () => {
  test('are named as older ones by whoever needs it', async () => {
    await using fixture = await openFixture(engine)
    await fixture.nextTopic()
    const run = (text: string): Promise<unknown> =>
      fixture.commit((transaction) => fixture.subject.execute(transaction, raw(text)))
    const push = (): Promise<unknown> => fixture.push({ identifier: 'a', reference: 'r' })
    await push()
    await run(`alter table ${task} rename column reference to earlier`)
    expect(await codeOf(push)).toBe('SCHEMA_OLDER')
    await run(`alter table ${task} rename column earlier to reference`)
    await push()
    expect(await fixture.states()).toEqual({ ready: 2 })
  })

  // PostgreSQL finds another way, and the doctor says so.
  test.skipIf(isPostgres)('or an index that statements name are named as such', async () => {
    await using fixture = await openFixture(engine)
    await fixture.nextTopic()
    await fixture.push('a')
    await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, raw(`drop index task_open${engine.family === 'mysql' ? ' on task' : ''}`)),
    )
    await expect(fixture.poll(1)).rejects.toMatchObject({
      code: 'SCHEMA_MISSING',
      message: expect.stringMatching(/An index of taskstream is missing.*task_open/),
    })
  })
})
