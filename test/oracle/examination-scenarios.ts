/** Makes every look that the Oracle dialect has. */
import { pollConditions } from '@taskstream/task-api'
import { databaseTime, looksOf, makeLook } from '@taskstream/task-sql'
import type { Scenario } from './scenarios.ts'

export function* examinationScenarios(): Generator<Scenario> {
  for (const condition of pollConditions.keys())
    yield {
      verb: 'verb',
      scene: { row: { polled_if: condition, blocker: 1, silent: 5, value: 5 } },
      run: (tasks, connection) =>
        tasks.verb(function* ({ dialect, now }) {
          yield* databaseTime(dialect, now())
          if (dialect.examination.damaged(new Error('ORA-01555: snapshot too old'))) throw new Error('it is not damaged')
          for (const look of Object.values(looksOf(dialect))) yield* makeLook(dialect, look, { now: now(), leaseMs: 5 }, 60_000)
        })(connection),
    }
}
