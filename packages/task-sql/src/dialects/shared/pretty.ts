import { taskReasons } from '@taskstream/task-api'
import { reasonNumbers, stateNumbers, states } from '../../core/states.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

/**
 * The view TASK_PRETTY, for people with a SQL prompt: it shows states and reasons by name, and instants as text. A recreated row shows
 * its previous state, and has `yes` in the column `recreated`.
 *
 * @param reasons how many reasons there were when the step of the migration was released
 */
export function prettyView(
  view: Statement,
  task: Statement,
  instant: (column: string) => string,
  create = 'create view',
  reasons: number = taskReasons.length,
): Statement {
  const named = (column: Statement, numbers: Readonly<Record<string, number>>): Statement => {
    const names = Object.entries(numbers).map(([name, number]) => `when ${number} then '${name}'`)
    return sql`case ${column} ${raw(names.join(' '))} end`
  }
  const shown = sql`case state when ${states.recreated} then descent else state end`
  const instants = ['created', 'started', 'completed', 'due', 'deadline'].map((column) => `${instant(column)} as ${column}`)
  return sql`
    ${raw(create)} ${view} as
    select topic, sequence, identifier,
           ${named(shown, stateNumbers)} as state,
           case state when ${states.recreated} then 'yes' else 'no' end as recreated,
           ${named(raw('reason'), Object.fromEntries(Object.entries(reasonNumbers).slice(0, reasons)))} as reason,
           owner, attempt, tries, max_tries, priority, reference, external_id,
           ${raw(instants.join(', '))},
           headers, input, output
      from ${task}`
}
