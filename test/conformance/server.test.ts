/** Servers that only resemble a supported database, or the one that was named, are refused. */
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromMysql2, mysql } from '@taskstream/task-sql/mysql2'
import { describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { codeOf } from '@taskstream/task-testing/suite'

describe.skipIf(!canRun)('a server that calls itself TiDB', () => {
  test('is refused by migrate, register and initialize', async () => {
    await using subject = await openSubject()
    const tasks = subject.tasks({
      adapt: (adapter) =>
        ({
          execution: 'async',
          execute: async (transaction, statement) =>
            (await adapter.execute(transaction, statement)).map((row) =>
              'version' in row && 'found' in row ? { ...row, version: '8.0.11-TiDB-v8.5.0' } : row,
            ),
        }) as typeof adapter,
    })
    expect(await codeOf(() => tasks.migrate(subject.transactions))).toBe('RUNTIME_UNSUPPORTED')
    expect(await codeOf(() => subject.transactions((transaction) => tasks.register(transaction)))).toBe('RUNTIME_UNSUPPORTED')
    expect(await codeOf(() => subject.transactions((transaction) => tasks.initialize(transaction, 'a')))).toBe(
      'RUNTIME_UNSUPPORTED',
    )
    expect(await subject.transactions((transaction) => subject.tasks().topics(transaction))).toEqual([])
  })
})

test.skipIf(!canRun).each([
  [{ charset: 'latin1' }, 'latin1'],
  [{ mode: 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES' }, 'NO_BACKSLASH_ESCAPES'],
])('a connection with %o is refused, as it would lose texts', async (settings, found) => {
  await using subject = await openSubject()
  const tasks = subject.tasks({
    adapt: (adapter) =>
      ({
        execution: 'async',
        execute: async (transaction, statement) =>
          (await adapter.execute(transaction, statement)).map((row) => ('charset' in row ? { ...row, ...settings } : row)),
      }) as typeof adapter,
  })
  await expect(subject.transactions((transaction) => tasks.register(transaction))).rejects.toMatchObject({
    code: 'RUNTIME_UNSUPPORTED',
    data: { found },
  })
})

test.skipIf(!canRun)('MariaDB is refused under the name of MySQL, with the name that it needs', async () => {
  await using subject = await openSubject()
  const tasks = sqlTaskRepository({ dialect: mysql(), adapter: fromMysql2 }) as unknown as Tasks
  const verbs = [
    () => tasks.migrate(subject.transactions),
    () => subject.transactions((transaction) => tasks.register(transaction)),
    () => subject.transactions((transaction) => tasks.initialize(transaction, 'a')),
  ]
  for (const verb of verbs)
    await expect(verb()).rejects.toMatchObject({
      code: 'RUNTIME_UNSUPPORTED',
      message: expect.stringMatching(/mariadb.*: say `mariadb`/i),
      data: { needed: 'mariadb' },
    })
})
