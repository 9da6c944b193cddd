/** Pushing the task of a timer, with what its row says. */
import { stateNumber } from '@taskstream/task-api'
import type { PushedTask, TaskCreation, TaskHeaders } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import type { Verb, VerbContext } from '@taskstream/task-sql'
import type { TimerRow } from './columns.ts'
import { externalIdOf, referenceOf } from './occurrence.ts'

/** @param occurrences one for each task, in order; undefined for one that is run by hand. @returns the tasks, in this order */
export function* submit({ push }: VerbContext, row: TimerRow, occurrences: readonly (number | undefined)[]): Verb<PushedTask[]> {
  const { input, headers, max_tries: maxTries } = row
  const creation: TaskCreation = {
    identifier: row.identifier!,
    priority: row.priority!,
    reference: referenceOf(row.scope!, row.id!),
    ...(input !== null && { input }),
    ...(headers !== null && { headers: JSON.parse(headers) as TaskHeaders }),
    ...(maxTries !== null && { maxTries }),
  }
  const creations = occurrences.map((occurrence) =>
    occurrence === undefined ? creation : { ...creation, externalId: externalIdOf(row.scope!, row.id!, occurrence) },
  )
  return yield* push(row.topic!, creations)
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
