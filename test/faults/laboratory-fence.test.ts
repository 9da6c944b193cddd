/** Whether the laboratory notices that a fence of the product is gone: see ../laboratory/fences.ts. */
import { rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { runLaboratory } from '../laboratory/run.ts'
import { canRun } from '../subject.ts'
import { amountOf } from '../tiers.ts'

const mostRuns = 5
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

// It takes a minute or more.
describe.skipIf(!canRun || amountOf('laboratory') < 60)('a product that completes what it does not hold', () => {
  test('is caught in the laboratory', { timeout: 900_000 }, async () => {
    const rules = new Set<string>()
    // On a busy machine there are fewer faults in this time, and a process must stand still while it holds a task.
    for (let run = 0; run < mostRuns && !rules.has('effects'); run++) {
      const { violations, folder } = await runLaboratory({
        engine: 'postgres',
        seconds: 40,
        seed: seed + run,
        isWhole: false,
        without: 'whoever completes need not hold',
      })
      // Histories of failures are kept, and this one was asked for.
      if (folder !== undefined) rmSync(folder, { recursive: true })
      for (const { rule } of violations) rules.add(rule)
    }
    expect([...rules]).toContain('effects')
  })
})
