/** The hammer, for as many polls as a test can wait for; `npm run hammer` goes on for longer. */
import { pollConditions, pollOrders } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { hammer } from '../hammer/hammer.ts'
import { byStatements } from '../engines/by-statements.ts'
import { mutants, mutated, mutateFunctions } from '../hammer/mutants.ts'
import { canRun, isMysql, isOracle, isPostgres, openSubject } from '../subject.ts'
import type { Tasks } from '../subject.ts'

const polls = 400
const kinds = pollOrders.flatMap((order) =>
  pollConditions.filter((condition) => condition !== 'none' && order !== 'shared').map((condition) => ({ order, condition })),
)
/** A guard is part of the statements of some engines only. */
const engine = isPostgres ? 'postgres' : isMysql ? 'mariadb' : isOracle ? 'oracle' : 'sqlite'

describe.skipIf(!canRun)('eight connections on a singular topic', () => {
  test.each(kinds)(
    'take no two tasks of one identifier, fail nobody, and leave nothing behind: $order, $condition',
    async (polling) => {
      await using subject = await openSubject()
      const report = await hammer(subject, {
        topic: 'hammer',
        connections: 8,
        identifiers: 12,
        polling,
        goOn: (so) => so.polls < polls,
      })
      expect(report).toMatchObject({ violations: 0, stuck: 0, errors: [], conflicts: [], repaired: 0 })
      expect(report.polled).toBeGreaterThan(0)
      expect(report.samples).toBeGreaterThan(0)
      // The run had deaths, rollbacks and interferences, without which it would prove little.
      expect(Math.min(report.deaths, report.undone, report.interfered)).toBeGreaterThan(0)
    },
  )

  test.runIf(isPostgres)('and beside a release that polls by statements from outside', async () => {
    await using subject = await openSubject()
    let count = 0
    const report = await hammer(subject, {
      topic: 'hammer',
      connections: 8,
      identifiers: 12,
      polling: { order: 'fifo', condition: 'singular-by-identifier-suspend-on-failure' },
      tasks: () => subject.tasks(count++ % 2 === 0 ? byStatements() : {}),
      goOn: (so) => so.polls < polls,
    })
    expect(report).toMatchObject({ violations: 0, stuck: 0, errors: [], conflicts: [], repaired: 0 })
    expect(report.polled).toBeGreaterThan(0)
  })

  test.each(mutants.filter(({ engines }) => engines.includes(engine)))(
    'the hammer sees what is done wrong: $name',
    async (mutant) => {
      await using subject = await openSubject()
      if (isPostgres) await mutateFunctions(subject, mutant)
      const tasks = (): Tasks => subject.tasks({ adapt: (adapter) => mutated(adapter, mutant) })
      // The run ends when the fault was noticed, or after long enough for it to be noticed.
      let seen = false
      for (let round = 0; round < 40 && !seen; round++) {
        const { violations, stuck } = await hammer(subject, {
          topic: `hammer-${round}`,
          connections: 8,
          identifiers: 4,
          polling: { order: 'lifo', condition: 'singular-by-identifier' },
          tasks,
          goOn: (so) => so.violations === 0 && so.polls < polls / 2,
        })
        seen = violations + stuck > 0
      }
      expect(seen).toBe(true)
    },
  )
})
