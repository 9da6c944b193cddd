import { checkInstant, checkNames, checkTopic, invalid, stateOf, taskResults, verbOptions } from '@taskstream/task-api'
import type { ResolveOptions, ResultsOptions, TaskResult } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import { states } from '../core/states.ts'
import { nothing, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { toNumber, toState } from '../core/task-row.ts'

export function* results(
  { dialect }: Context,
  options: ResultsOptions = {},
): Verb<ReadonlyMap<string, ReadonlyMap<TaskResult, number>>> {
  checkNames(verbOptions.results, options)
  const { from, to } = options
  if (from !== undefined) checkInstant('from', from)
  if (to !== undefined) checkInstant('to', to)
  // mutants: equivalent logic `from && to`, nothing is after an instant that is not given
  if (from && to && from > to) throw invalid('from', from.toISOString(), `must not be after to, which is ${to.toISOString()}`)
  const after = from ? sql` and ${since(dialect, 't.completed', from)}` : nothing
  const before = to ? sql` and ${until(dialect, 't.completed', to)}` : nothing
  // A task that was only pushed suspended has no result. One that was reassigned has, even if it was never completed.
  const rows = yield sql`
    select p.topic, c.state, c.count
      from ${dialect.tables.topic} p
      left join (select t.topic, t.state, count(*) as count
                   from ${dialect.tables.task} t
                  where t.state between ${states.failed} and ${states.succeeded} and t.due is null
                    and (t.completed is not null or t.state <> ${states.suspended})${after}${before}
                  group by t.topic, t.state) c on c.topic = p.topic
     order by p.topic, c.state`
  const counts = new Map<string, Map<TaskResult, number>>()
  for (const row of rows) {
    const name = String(row['topic'])
    const inTopic = counts.get(name) ?? new Map<TaskResult, number>()
    counts.set(name, inTopic)
    if (row['state'] !== null) inTopic.set(resultOf(row['state']), toNumber(row['count']))
  }
  return counts
}

export function* resolve({ dialect }: Context, instant: Date, options: ResolveOptions = {}): Verb<number> {
  checkInstant('instant', instant)
  checkNames(verbOptions.resolve, options)
  const { preceding = false, topic } = options
  if (topic !== undefined) checkTopic(topic)
  const { ranges } = dialect
  const of = topic !== undefined ? sql` and t.topic = ${topic}` : ranges ? sql` and ${ranges.sharesNumbers}` : nothing
  const [row] = yield sql`
    select ${raw(preceding ? 'max' : 'min')}(t.sequence) as sequence
      from ${dialect.tables.task} t
     where ${(preceding ? until : since)(dialect, 't.created', instant)}${of}`
  const { sequence } = row!
  if (sequence === null) return preceding ? 0 : Number.MAX_SAFE_INTEGER
  return toNumber(sequence)
}

function resultOf(state: unknown): TaskResult {
  return taskResults.find((result) => stateOf(result) === toState(state))!
}

/** At or after an instant. */
function since(dialect: Dialect, column: string, instant: Date): Statement {
  return sql`${raw(column)} >= ${dialect.expr.instant(sql`${instant.getTime()}`)}`
}

/** At or before an instant, with all of its millisecond: some databases keep instants more exactly than callers see them. */
function until(dialect: Dialect, column: string, instant: Date): Statement {
  return sql`${raw(column)} < ${dialect.expr.instant(sql`${instant.getTime() + 1}`)}`
}
