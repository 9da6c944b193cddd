/** Pushing the task of a timer, with what its row says. */
import { stateNumber } from '@taskstream/task-api'
import type { PushedTask, TaskHeaders } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import type { Verb, VerbContext } from '@taskstream/task-sql'
import type { TimerRow } from './columns.ts'
import { externalIdOf, referenceOf } from './occurrence.ts'

/** @param occurrence none when it is run by hand */
export function* submit({ push }: VerbContext, row: TimerRow, occurrence?: number): Verb<PushedTask> {
  const { input, headers, max_tries: maxTries } = row
  const [task] = yield* push(row.topic!, {
    identifier: row.identifier!,
    priority: row.priority!,
    reference: referenceOf(row.scope!, row.id!),
    ...(input !== null && { input }),
    ...(headers !== null && { headers: JSON.parse(headers) as TaskHeaders }),
    ...(maxTries !== null && { maxTries }),
    ...(occurrence !== undefined && { externalId: externalIdOf(row.scope!, row.id!, occurrence) }),
  })
  return task!
}

/** Waiting, being worked on, to be taken up again, or suspended: set aside is not done. */
const open = new Set((['active', 'ready', 'expired', 'suspended'] as const).map(stateNumber))

/** The sequence of the task that was submitted last, if it has not ended. One that is not there any more has. */
export function* unfinished({ dialect }: VerbContext, row: TimerRow): Verb<number | undefined> {
  const { last_topic: topic, last_sequence: sequence } = row
  if (topic === null || sequence === null) return undefined
  const [task] = yield sql`
    select t.state from ${dialect.tables.task} t where ${dialect.at(sql`${topic}`, sql`${sequence}`)}`
  return task && open.has(Number(task['state'])) ? sequence : undefined
}
