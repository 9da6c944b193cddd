import { checkInteger, checkTopic, invalid, taskLimits } from '@taskstream/task-api'
import type { TaskEnding, TaskKey, TaskState } from '@taskstream/task-api'
import { states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import { holding, toNumber, toReason, toState } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'

/** An expired task is looked at by somebody, and a suspended one goes on some day. */
const ended: ReadonlySet<TaskState> = new Set(['failed', 'filtered', 'succeeded', 'recreated', 'redundant'])

export function* endings(context: Context, tasks: readonly TaskKey[]): Verb<readonly (TaskEnding | undefined)[]> {
  if (!Array.isArray(tasks)) throw invalid('tasks', tasks, 'must be a list of tasks')
  checkInteger('the number of tasks', tasks.length, 0, taskLimits.batchSize)
  for (const task of tasks) {
    checkTopic(task?.topic)
    checkInteger('sequence', task.sequence, 0, Number.MAX_SAFE_INTEGER)
  }
  const found = new Map<number, TaskEnding>()
  const passed = new Set<string>()
  let sought = [...tasks.entries()]
  while (sought.length > 0) {
    const rows = yield rowsOf(context, sought)
    const next: [number, TaskKey][] = []
    for (const row of rows) {
      const place = toNumber(row['place'])
      // mutants: equivalent string `String(row['next_topic'])`, a sequence is one of one topic
      const step = `${place} ${String(row['next_sequence'])} ${String(row['next_topic'])}`
      // A task may name one that was there before as its successor, and that one may lead back: the work is over then.
      if (row['next_topic'] === null || passed.has(step)) found.set(place, toEnding(row))
      // mutants: equivalent method, they are looked for in any order
      else next.push([place, { topic: String(row['next_topic']), sequence: toNumber(row['next_sequence']) }])
      passed.add(step)
    }
    sought = next
  }
  return tasks.map((_, place) => found.get(place))
}

function rowsOf({ dialect }: Context, sought: readonly (readonly [number, TaskKey])[]): ReturnType<typeof sql> {
  const { tables, expr, paths } = dialect
  const wanted = expr.rows([
    { name: 'place', type: 'integer', values: sought.map(([place]) => place) },
    { name: 'wanted_topic', type: 'text', values: sought.map(([, { topic }]) => topic) },
    { name: 'wanted', type: 'integer', values: sought.map(([, { sequence }]) => sequence) },
  ])
  return sql`
    select r.place, t.topic, t.sequence, ${holding(dialect).state} as state, t.reason, e.value, e.next_topic, e.next_sequence,
           case when t.state in (${states.failed}, ${states.filtered}) then t.output end as output
      from ${wanted}
      join ${tables.task} t on ${paths.byKey(raw('r.wanted_topic'), raw('r.wanted'))}
      left join ${tables.result} e on e.topic = t.topic and e.sequence = t.sequence and t.state = ${states.succeeded}`
}

function toEnding(row: Row): TaskEnding {
  const state = toState(row['state'])
  return {
    task: { topic: String(row['topic']), sequence: toNumber(row['sequence']) },
    state,
    ended: ended.has(state),
    reason: row['reason'] === null ? undefined : toReason(row['reason']),
    value: row['value'] === null ? undefined : String(row['value']),
    output: row['output'] === null ? undefined : String(row['output']),
  }
}
