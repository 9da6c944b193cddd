import { sql } from '@taskstream/task-sql'
import type { Verb, VerbContext } from '@taskstream/task-sql'
import { assigned } from './columns.ts'
import { overlaps } from './definition.ts'
import { find } from './look.ts'
import { externalIdByHand } from './occurrence.ts'
import type { RunNow } from './periodic-task.ts'
import { submit, unfinished } from './submit.ts'

/**
 * Submits a task of the timer now; when it fires next stays as it is.
 *
 * @throws TaskError TIMER_UNKNOWN, TOPIC_UNKNOWN
 */
export function* runNow(context: VerbContext, scope: string, id: string): Verb<RunNow> {
  const { dialect } = context
  const row = yield* find(context, scope, id)
  const sequence = overlaps[row.overlap!] === 'skip' ? yield* unfinished(context, row) : undefined
  if (sequence !== undefined) return { unfinished: sequence }
  const [task] = yield* submit(context, row, [externalIdByHand(scope, id, row.now!)])
  yield sql`
    update ${dialect.tables.periodic}
       set ${assigned(dialect, { last_topic: task!.topic, last_sequence: task!.sequence, last_occurrence: null })}
     where scope = ${scope} and id = ${id}`
  return { submitted: task! }
}
