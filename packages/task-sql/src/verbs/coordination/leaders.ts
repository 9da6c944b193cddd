/** Who leads a group: one row, which each take-over changes and each fence locks. */
import type { FollowedLeader, GroupLeader, GroupMember } from '@taskstream/task-api'
import type { Dialect } from '../../core/dialect.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { toNumber } from '../../core/task-row.ts'
import type { Verb } from '../../core/verb.ts'
import { statementsOf } from './members.ts'

type Parts = Pick<Dialect, 'coordination' | 'writes'>

export function* leader(dialect: Parts, groupId: string): Verb<GroupLeader | undefined> {
  const { tokenHolder, healthCheck, textOf } = statementsOf(dialect)
  const [row] = yield sql`
    select t.task_id, t.term, ${textOf(raw('h.last_heartbeat'))} as heartbeat
      from ${tokenHolder} t
      left join ${healthCheck} h on h.group_id = t.group_id and h.task_id = t.task_id
     where t.group_id = ${groupId}`
  if (!row) return undefined
  const { task_id: taskId, term, heartbeat } = row
  return { taskId: String(taskId), term: toNumber(term), heartbeat: heartbeat === null ? null : String(heartbeat) }
}

export function* takeOver(
  dialect: Parts,
  { groupId, taskId }: GroupMember,
  term: number,
  seen: FollowedLeader | undefined,
): Verb<'taken' | 'busy' | 'changed'> {
  const { tokenHolder, alone } = statementsOf(dialect)
  const { writes } = dialect
  if (!seen) {
    const first = { group_id: groupId, task_id: taskId, term }
    return (yield* writes.touched(writes.insertIfAbsent(tokenHolder, first, 'group_id'))) > 0 ? 'taken' : 'changed'
  }
  // A leader that stands still in the middle of a transaction has locked the row. Whoever waited for it would hold a connection for as long.
  const free = yield sql`select t.term from ${tokenHolder} t where t.group_id = ${groupId} ${alone}`
  if (free.length === 0) return (yield* leader(dialect, groupId)) ? 'busy' : 'changed'
  const taken = yield* writes.touched(sql`
    update ${tokenHolder}
       set task_id = ${taskId}, term = ${term}
     where group_id = ${groupId} and task_id = ${seen.taskId} and term = ${seen.term}${isSilent(dialect, groupId, seen)}`)
  return taken > 0 ? 'taken' : 'changed'
}

function isSilent(dialect: Parts, groupId: string, { taskId, heartbeat }: FollowedLeader): Statement {
  if (heartbeat === undefined) return nothing
  const { healthCheck, textOf } = statementsOf(dialect)
  const isOther = heartbeat === null ? nothing : sql` and ${textOf(raw('h.last_heartbeat'))} <> ${heartbeat}`
  return sql` and not exists (select 1 from ${healthCheck} h where h.group_id = ${groupId} and h.task_id = ${taskId}${isOther})`
}

export function* holds(dialect: Parts, { groupId, taskId }: GroupMember, term: number): Verb<boolean> {
  const { tokenHolder, shared } = statementsOf(dialect)
  const rows = yield sql`
    select t.term from ${tokenHolder} t where t.group_id = ${groupId} and t.task_id = ${taskId} and t.term = ${term} ${shared}`
  return rows.length > 0
}
