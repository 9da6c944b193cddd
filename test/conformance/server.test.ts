/** Servers that only resemble a supported database are refused. */
import { describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'
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
