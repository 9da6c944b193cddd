/**
 * Nodes keep their promises under random schedules of events: every step is checked against a ledger. A failure prints its
 * shortest schedule and its seed. TASKSTREAM_SEED draws other schedules, and TASKSTREAM_RUNS more of them. Every run of the suite
 * has the same seed.
 */
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import { openNodeFixture } from '../e2e/fixture.ts'
import { randomOf } from '../interleavings/random.ts'
import { canRun, engine } from '../subject.ts'
import { amountOf } from '../tiers.ts'
import { schedule } from './node-schedule.ts'
import { NodeWorld } from './node-world.ts'

/** SQLite in memory. */
const isFast = engine.connections === 1 && engine.synchronous
const runs = Number(process.env['TASKSTREAM_RUNS'] ?? amountOf(isFast ? 'nodeSchedules' : 'slowNodeSchedules'))
const seed = Number(process.env['TASKSTREAM_SEED'] ?? 7)

describe.skipIf(!canRun)(`any schedule of handlers, faults and stops (${runs} of them, seed ${seed})`, () => {
  test('handles each task as its last handler decided, and reports what it held', { timeout: 600_000 }, async () => {
    await using fixture = await openNodeFixture('node-model')
    const { random } = Math
    const property = fc.asyncProperty(schedule, async ({ setting, events }) => {
      const { order, condition, dice } = setting
      await fixture.next({ order, condition })
      Math.random = randomOf(dice)
      try {
        await new NodeWorld(fixture, setting).play(events)
      } finally {
        Math.random = random
      }
    })
    await fc.assert(property, { numRuns: runs, seed, endOnFailure: false })
  })
})
