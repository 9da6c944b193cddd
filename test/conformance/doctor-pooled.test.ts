/** The doctor finds that notifications do not pass a pooler. */
import { pgListener } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { useFixture } from '@taskstream/task-testing/suite'
import { canRun, engine } from '../subject.ts'
import { complaintsOf } from './examining.ts'

describe.skipIf(!canRun)('the doctor behind a pooler in transaction mode', () => {
  const fixture = useFixture(engine)
  const listening = (connectionString: string): ReturnType<typeof pgListener> =>
    pgListener(() => new pg.Client({ connectionString }))

  test('finds that a listener behind the pooler hears nothing, and that one before it does', async () => {
    const { subject } = fixture
    expect(await complaintsOf(subject, { notifier: listening(subject.location.at) })).toEqual(['wake-up warn'])
    const direct = new URL(process.env['TASKSTREAM_POSTGRES_SERVER'] ?? '')
    direct.pathname = new URL(subject.location.at).pathname
    expect(await complaintsOf(subject, { notifier: listening(direct.href), wakeUpMs: 60_000 })).toEqual([])
  })
})
