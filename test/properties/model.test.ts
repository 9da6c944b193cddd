/**
 * Random histories of every verb, interleaved on several connections, give the same results as the model. A failure prints its shortest
 * history and its seed. TASKSTREAM_SEED runs that seed again, and TASKSTREAM_RUNS sets the number of histories.
 */
import { pollConditions, pollOrders } from '@taskstream/task-api'
import type { TopicOptions } from '@taskstream/task-api'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import { openFixture } from '@taskstream/task-testing/suite'
import { canRun, engine, subjectName } from '../subject.ts'
import { amountOf } from '../tiers.ts'
import { step } from './step.ts'
import type { Step } from './step.ts'
import { World } from './world.ts'

/**
 * On a server each step costs more, as it also asks who waits, which rows are locked, and what other sessions see. Behind a pooler and on
 * another release of PostgreSQL the statements are those of PostgreSQL 18.
 */
const amount = ['postgres-partitioned', 'postgres-15', 'pgbouncer', 'pglite', 'libsql'].includes(subjectName)
  ? 'slowHistories'
  : engine.writers > 1
    ? 'serverHistories'
    : 'histories'
const runs = Number(process.env['TASKSTREAM_RUNS'] ?? amountOf(amount))
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

const topics: readonly TopicOptions[] = [
  {},
  { keyed: true },
  ...pollOrders
    .flatMap((order) => pollConditions.map((condition) => ({ order, condition, keyed: true })))
    .filter(({ order, condition }) => order !== 'shared' || condition === 'none'),
  { order: 'shared' },
]

/** Histories that the model did not know once. */
const examples: [TopicOptions, Step[]][] = [
  [
    // Tasks of a range are completed, which are held no longer, while another polls one of them: MariaDB looks at what was committed, and waits for nobody.
    {},
    [
      { kind: 'push', session: 0, size: 3, pick: 0 },
      { kind: 'commit', session: 0, size: 1, pick: 0 },
      { kind: 'poll', session: 0, size: 3, pick: 0 },
      { kind: 'commit', session: 0, size: 1, pick: 0 },
      { kind: 'expire', session: 1, size: 1, pick: 7 },
      { kind: 'commit', session: 1, size: 1, pick: 0 },
      { kind: 'poll', session: 1, size: 1, pick: 0 },
      { kind: 'complete', session: 0, size: 3, pick: 0 },
      { kind: 'commit', session: 0, size: 1, pick: 0 },
    ],
  ],
  [
    // A verb is given a task that is being completed and one that is being reassigned. It waits for the second only.
    {},
    [
      { kind: 'push', session: 0, size: 3, pick: 0 },
      { kind: 'commit', session: 0, size: 1, pick: 0 },
      { kind: 'take', session: 0, size: 1, pick: 0 },
      { kind: 'reassign given', session: 0, size: 1, pick: 2 },
      { kind: 'reassign given', session: 1, size: 3, pick: 11 },
    ],
  ],
  [
    // An attempt of one task ends while another task is purged, which waits for nobody: it looks up its own attempts alone.
    {},
    [
      { kind: 'push', session: 0, size: 3, pick: 0 },
      { kind: 'push', session: 1, size: 3, pick: 0 },
      { kind: 'commit', session: 1, size: 1, pick: 0 },
      { kind: 'take', session: 1, size: 1, pick: 0 },
      { kind: 'purge', session: 0, size: 2, pick: 1 },
      { kind: 'commit', session: 0, size: 1, pick: 0 },
    ],
  ],
]

describe.skipIf(!canRun)(`any history of interleaved statements (${runs} of them, seed ${seed})`, () => {
  test('is one that the model knows', { timeout: 600_000 }, async () => {
    const clock = { now: Date.UTC(2026, 0, 1) }
    await using fixture = await openFixture(engine, () => new Date(clock.now))
    // In a topic that keeps outcomes, polls and operators wait for each other's transactions, which the model does not know.
    const count = fixture.subject.connections === 1 || engine.outcomes ? 1 : 3
    const sessions = await Promise.all(Array.from({ length: count }, () => fixture.subject.session()))
    const owners = await Promise.all(Array.from({ length: count }, () => fixture.owner()))
    const observer = count === 1 ? sessions[0]! : await fixture.subject.session()
    // Nobody beats again: an owner lives for as long as the others say that its silence may last.
    clock.now++
    const history = fc.asyncProperty(
      fc.constantFrom(...topics),
      fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
      async (options, steps) => {
        await fixture.nextTopic(options)
        const isWaiting = (): Promise<boolean> => Promise.resolve(false)
        const parties = sessions.map((session, index) => ({ session, tasks: owners[index]!, polled: [], kept: 0, isWaiting }))
        const world = new World(fixture, parties, observer, clock, options)
        try {
          for (const one of steps) await world.apply(one)
          await world.settle()
        } finally {
          await world.close()
        }
      },
    )
    await fc.assert(history, { numRuns: runs, seed, endOnFailure: false, examples })
  })
})
