/** A statement that takes too long is ended where no transaction has a limit of its own, and the session of the pool gets its limit back. */
import { beginLimit, endLimit, raw, sql } from '@taskstream/task-sql'
import { codeOf, useFixture } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'

describe.skipIf(!canRun)('a limit for a session', () => {
  const fixture = useFixture(engine)

  test.each([0, 30])('ends a statement, and afterwards it is %s seconds again', async (seconds) => {
    const { tasks } = fixture
    const set = tasks.verb(function* (_context, most: number) {
      yield sql`set session max_statement_time = ${most}`
    })
    const get = tasks.verb(function* () {
      const [row] = yield raw('select @@session.max_statement_time as most')
      return Number(row!['most'])
    })
    const sleep = tasks.verb(function* () {
      yield raw('select sleep(60)')
    })
    await fixture.commit(async (transaction) => {
      await set(transaction, seconds)
      await tasks.verb(({ dialect }) => beginLimit(dialect, 100))(transaction)
      // Somebody's own limit, which may be lower, stays.
      expect(await get(transaction)).toBe(seconds === 0 ? 0.1 : seconds)
      if (seconds === 0) expect(await codeOf(() => sleep(transaction))).toBe('DATABASE_BUSY')
      await tasks.verb(({ dialect }) => endLimit(dialect))(transaction)
      expect(await get(transaction)).toBe(seconds)
      await set(transaction, 0)
    })
  })
})
