/** Whether a task of a timer has not ended. */
import { stateNumber } from '@taskstream/task-api'
import { raw, sql } from '../../core/statement.ts'
import { toNumber } from '../../core/task-row.ts'
import type { Context } from '../../core/verb-context.ts'
import type { Verb } from '../../core/verb.ts'

/** Waiting, being worked on, to be taken up again, or suspended: set aside is not done. */
const open = raw((['active', 'ready', 'expired', 'suspended'] as const).map(stateNumber).join(', '))

/** So many of a timer's tasks in a topic are looked at, the latest first: its history may be long, and no index knows what of it is open. */
const latest = 1_000

/** What tasks carry tells, and not what the timer remembers. */
export function* unfinished({ dialect }: Context, topic: string, reference: string): Verb<number | undefined> {
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
  return task && toNumber(task['sequence'])
}
