/** Whether the laboratory notices that a fence of the product is gone: see ../laboratory/fences.ts. */
import { rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { runLaboratory } from '../laboratory/run.ts'
import { canRun } from '../subject.ts'
import { amountOf } from '../tiers.ts'

const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

// It takes most of a minute.
describe.skipIf(!canRun || amountOf('laboratory') < 60)('a product that completes what it does not hold', () => {
  test('is caught in the laboratory', { timeout: 600_000 }, async () => {
    const { violations, folder } = await runLaboratory({
      engine: 'postgres',
      seconds: 40,
      seed,
      isWhole: false,
      without: 'whoever completes need not hold',
    })
    // Histories of failures are kept, and this one was asked for.
    if (folder !== undefined) rmSync(folder, { recursive: true })
    expect(violations.map(({ rule }) => rule)).toContain('effects')
  })
})
