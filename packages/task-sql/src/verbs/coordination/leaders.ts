/** Who leads a group: one row, which each take-over changes and each fence locks. */
import { invalid } from '@taskstream/task-api'
import type { FollowedLeader, GroupLeader, GroupMember } from '@taskstream/task-api'
import type { Dialect } from '../../core/dialect.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { toNumber } from '../../core/task-row.ts'
import type { Verb } from '../../core/verb.ts'
import { statementsOf } from './members.ts'

type Parts = Pick<Dialect, 'coordination' | 'expr' | 'writes'>

/** The columns of the row, which may be null in a table that another program has made. */
const holder = raw(`coalesce(t.task_id, '')`)
const lastTerm = raw('coalesce(t.term, 0)')

export function* leader(dialect: Parts, { groupId, taskId: asking }: GroupMember): Verb<GroupLeader | undefined> {
  const { tokenHolder, healthCheck, textOf } = statementsOf(dialect)
  // The database compares, as the columns may not tell small letters from capital ones: then both ids have one heartbeat.
  const [row] = yield sql`
    select t.group_id, case when t.task_id = ${asking} then 1 else 0 end as is_asking, ${holder} as task_id, ${lastTerm} as term,
      ${textOf(raw('h.last_heartbeat'))} as heartbeat
      from ${tokenHolder} t
      left join ${healthCheck} h on h.group_id = t.group_id and h.task_id = t.task_id
     where t.group_id = ${groupId}`
  if (!row) return undefined
  const { group_id: found, is_asking: isAsking, task_id: taskId, term, heartbeat } = row
  if (found !== groupId)
    throw invalid(
      'groupId',
      groupId,
      `must be "${String(found)}", or differ from it in more than case and blanks: token_holder takes both for one`,
    )
  return {
    taskId: toNumber(isAsking) === 1 ? asking : String(taskId),
    term: toNumber(term),
    heartbeat: heartbeat === null ? null : String(heartbeat),
  }
}

export function* takeOver(
  dialect: Parts,
  member: GroupMember,
  term: number,
  seen: FollowedLeader | undefined,
): Verb<'taken' | 'busy' | 'changed'> {
  const { groupId, taskId } = member
  const { tokenHolder } = statementsOf(dialect)
  const { writes } = dialect
  if (!seen) {
    const first = { group_id: groupId, task_id: taskId, term }
    return (yield* writes.touched(writes.insertIfAbsent(tokenHolder, first, 'group_id'))) > 0 ? 'taken' : 'changed'
  }
  // A leader that stands still in the middle of a transaction has locked the row. Whoever waited for it would hold a connection for as long.
  const free = yield sql`select t.term from ${tokenHolder} t where t.group_id = ${groupId} ${dialect.expr.alone}`
  if (free.length === 0) return (yield* leader(dialect, member)) ? 'busy' : 'changed'
  const taken = yield* writes.touched(sql`
    update ${tokenHolder} as t
       set task_id = ${taskId}, term = ${term}
     where t.group_id = ${groupId} and ${holder} = ${seen.taskId} and ${lastTerm} = ${seen.term}${isSilent(dialect, groupId, seen)}`)
  return taken > 0 ? 'taken' : 'changed'
}

function isSilent(dialect: Parts, groupId: string, { taskId, heartbeat }: FollowedLeader): Statement {
  if (heartbeat === undefined) return nothing
  const { healthCheck, textOf } = statementsOf(dialect)
  const last = textOf(raw('h.last_heartbeat'))
  const isOther = heartbeat === null ? sql`${last} is not null` : sql`${last} <> ${heartbeat}`
  return sql` and not exists (select 1 from ${healthCheck} h where h.group_id = ${groupId} and h.task_id = ${taskId} and ${isOther})`
}

export function* holds(dialect: Parts, { groupId, taskId }: GroupMember, term: number): Verb<boolean> {
  const { tokenHolder } = statementsOf(dialect)
  const rows = yield sql`
    select t.term from ${tokenHolder} t where t.group_id = ${groupId} and t.task_id = ${taskId} and t.term = ${term} ${dialect.expr.shared}`
  return rows.length > 0
}
