import { taskReasons, taskStates } from '@taskstream/task-api'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

/**
 * The view TASK_PRETTY, for people with a SQL prompt: states and reasons by name, instants as they are read. A recreated row shows the
 * state it was recreated from, and says so in a column of its own.
 */
export function prettyView(
  view: Statement,
  task: Statement,
  instant: (column: string) => string,
  create = 'create view',
): Statement {
  const named = (column: string, names: readonly string[]): string =>
    `case ${column} ${names.map((name, number) => `when ${number} then '${name}'`).join(' ')} end`
  const instants = ['created', 'started', 'completed', 'due', 'deadline'].map((column) => `${instant(column)} as ${column}`)
  return sql`
    ${raw(create)} ${view} as
    select topic, sequence, identifier,
           ${raw(named('case state when 7 then descent else state end', taskStates))} as state,
           case state when 7 then 'yes' else 'no' end as recreated,
           ${raw(named('reason', taskReasons))} as reason,
           owner, attempt, tries, max_tries, priority, reference, external_id,
           ${raw(instants.join(', '))},
           headers, input, output
      from ${task}`
}
