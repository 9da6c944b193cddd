/** Pushing the task of a timer, with what its row says. */
import { stateNumber } from '@taskstream/task-api'
import type { PushedTask, TaskHeaders } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Verb, VerbContext } from '@taskstream/task-sql'
import type { TimerRow } from './columns.ts'
import { referenceOf } from './occurrence.ts'

/** @param externalIds of the tasks, one for each. @returns the tasks, in this order */
export function* submit({ push }: VerbContext, row: TimerRow, externalIds: readonly string[]): Verb<PushedTask[]> {
  const { input, headers, max_tries: maxTries } = row
  const creation = {
    identifier: row.identifier!,
    priority: row.priority!,
    reference: referenceOf(row.scope!, row.id!),
    ...(input !== null && { input }),
    ...(headers !== null && { headers: JSON.parse(headers) as TaskHeaders }),
    ...(maxTries !== null && { maxTries }),
  }
  return yield* push(
    row.topic!,
    externalIds.map((externalId) => ({ ...creation, externalId })),
  )
}

/** Waiting, being worked on, to be taken up again, or suspended: set aside is not done. */
const open = raw((['active', 'ready', 'expired', 'suspended'] as const).map(stateNumber).join(', '))

/** So many of a timer's tasks in a topic are looked at, the latest first: its history may be long, and no index knows what of it is open. */
const latest = 1_000

/**
 * The sequence of a task of the timer that has not ended, whoever has submitted, redriven or recreated it: what tasks carry tells, and not what the
 * timer remembers. Those in its topic are found, and those in the topic of the last one.
 */
export function* unfinished({ dialect }: VerbContext, row: TimerRow): Verb<number | undefined> {
  const reference = referenceOf(row.scope!, row.id!)
  // mutants: equivalent nullish:row.last_topic, no topic is null
  for (const topic of new Set([row.topic!, row.last_topic ?? row.topic!])) {
    // mutants: equivalent sql-boundary `external_id >`, no instant is empty
    // mutants: equivalent sql-boundary `external_id <`, no instant is a tilde
    // The reference tells them from those of a timer whose id goes on where this one's ends.
    const [task] = yield sql`
      select o.sequence
        from (select t.sequence, t.state, t.reference
                from ${dialect.tables.task} t
               where t.topic = ${topic} and t.external_id > ${`${reference}@`} and t.external_id < ${`${reference}@~`}
               order by t.external_id desc
               ${dialect.expr.limit(sql`${latest}`)}) o
       where o.reference = ${reference} and o.state in (${open})
       ${dialect.expr.limit(sql`${1}`)}`
    if (task) return Number(task['sequence'])
  }
  return undefined
}
