/**
 * Random histories of every verb, whose statements interleave on several connections, held against the model. A failure prints
 * its shortest history and its seed; TASKSTREAM_SEED runs it again, TASKSTREAM_RUNS runs more.
 */
import { pollConditions, pollOrders } from '@taskstream/task-api'
import type { TopicOptions } from '@taskstream/task-api'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import { openFixture } from '@taskstream/task-testing/suite'
import { canRun, engine, subjectName } from '../subject.ts'
import { step } from './step.ts'
import { World } from './world.ts'
import { amountOf } from '../tiers.ts'

const runs = Number(
  process.env['TASKSTREAM_RUNS'] ?? amountOf(subjectName === 'postgres-partitioned' ? 'partitionedHistories' : 'histories'),
)
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

const topics: readonly TopicOptions[] = [
  {},
  { keyed: true },
  ...pollOrders.flatMap((order) => pollConditions.map((condition) => ({ order, condition, keyed: true }))),
]

describe.skipIf(!canRun)(`any history of interleaved statements (${runs} of them, seed ${seed})`, () => {
  test('is one that the model knows', { timeout: 240_000 }, async () => {
    const clock = { now: Date.UTC(2026, 0, 1) }
    await using it = await openFixture(engine, () => new Date(clock.now))
    const count = it.subject.connections === 1 ? 1 : 3
    const sessions = await Promise.all(Array.from({ length: count }, () => it.subject.session()))
    const owners = await Promise.all(Array.from({ length: count }, () => it.owner()))
    const history = fc.asyncProperty(
      fc.constantFrom(...topics),
      fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
      async (options, steps) => {
        await it.nextTopic(options)
        const parties = sessions.map((session, index) => ({ session, tasks: owners[index]!, polled: [], kept: 0 }))
        const world = new World(it, parties, clock, options)
        try {
          for (const one of steps) await world.apply(one)
          await world.settle()
        } finally {
          for (const session of world.model.open) await world.parties[session]?.session.rollback()
        }
      },
    )
    await fc.assert(history, { numRuns: runs, seed, endOnFailure: false })
  })
})
