/** The doctor makes its checks through every driver and library, as the console does in a program. */
import { examine } from '@taskstream/task-operations'
import { describe, expect, test } from 'vitest'
import { drivers } from '../drivers/of-engine.ts'
import { openDriver } from '../drivers/opened.ts'
import { canRun } from '../subject.ts'

describe.skipIf(!canRun).each(drivers)('$name:', (driver) => {
  test('the doctor skips no check because of how its transactions end', async () => {
    await using opened = await openDriver(driver)
    const { open, tasks } = opened
    await tasks.migrate(open.transactions)
    const findings = await examine({ tasks, transactions: open.transactions, limitMs: 60_000 })
    const skipped = findings.filter(
      ({ severity, measured }) => severity === 'skipped' && /transaction|savepoint/i.test(String(measured)),
    )
    expect(skipped).toEqual([])
    expect(findings.filter(({ severity }) => severity === 'ok').length).toBeGreaterThan(10)
  })
})
