/** The looks of the doctor, as a verb whose statements are counted. */
import { databaseTime, looksOf, makeLook } from '@taskstream/task-sql'
import type { AnyTransaction, Tasks } from '../subject.ts'

/** Makes every look that does not read the whole database on purpose, and that a worker may make. */
export function makeLooks(tasks: Tasks, transaction: AnyTransaction): unknown {
  const make = tasks.verb(function* ({ dialect, now }) {
    yield* databaseTime(dialect, now())
    for (const look of Object.values(looksOf(dialect)))
      if (!look.deep && look.grant === undefined) yield* makeLook(dialect, look, { now: now(), leaseMs: 1 }, 600_000)
  })
  return make(transaction)
}
