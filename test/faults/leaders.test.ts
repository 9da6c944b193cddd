/** The leader of a group is killed, stopped and cut off, inside its transactions too: two never commit in one term. */
import { describe, expect, test } from 'vitest'
import { faultsOn, laboratoryTables, runLaboratory } from '../leaders/laboratory.ts'
import { canRun, openSubject } from '../subject.ts'
import { amountOf } from '../tiers.ts'

const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

describe.skipIf(!canRun)(`leaders that are broken again and again (seed ${seed})`, () => {
  test('are followed, and commit nothing in a term that is over', { timeout: 600_000 }, async () => {
    await using subject = await openSubject()
    for (const definition of laboratoryTables(subject.engine))
      await subject.transactions(async (transaction) => void (await subject.execute(transaction, definition)))
    const faults = faultsOn(subject.engine)
    const takeOvers = Math.max(faults.length, amountOf('takeOvers'))
    // Each fault in turn, so that none is left out.
    const report = await runLaboratory(subject, {
      takeOvers,
      livenessCheckIntervalMs: 1_500,
      heartbeatIntervalMs: 150,
      seed,
      faultOf: (count) => faults[count % faults.length]!,
    })
    expect(report).toMatchObject({ shared: 0, late: 0 })
    expect(new Set(report.takeOvers.map(({ fault }) => fault))).toEqual(new Set(faults))
    expect(report.takeOvers).toHaveLength(takeOvers)
    expect(report.commits).toBeGreaterThan(takeOvers)
  })
})
