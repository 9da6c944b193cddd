import { checkGiven, checkInteger, checkMap, checkTopic, invalid, stateOf, taskResults, verbOptions } from '@taskstream/task-api'
import type { ReassignAllOptions, Task, TaskResult } from '@taskstream/task-api'
import type { Change } from '../core/requests.ts'
import { blockingClassOf, stateNumbers } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { isIn } from './filter-state.ts'
import { lockGiven, revivable } from './recreate.ts'
import { checkKnown } from './topics.ts'
import { enqueueRechecks, setBlockingClass } from './recheck.ts'
import { forgetResults } from './removal.ts'
import { sequencesOf } from '../core/task-row.ts'

export function* reassign(context: Context, topic: string, results: ReadonlyMap<Task, TaskResult>): Verb<void> {
  checkTopic(topic)
  checkMap('results', results, 'of results by task')
  for (const result of results.values()) checkResult('result', result)
  yield* lockGiven(context, topic, results.keys())
  for (const result of new Set(results.values())) {
    const sequences = [...results].filter(([, one]) => one === result).map(([{ sequence }]) => sequence)
    yield* assign(context, topic, result, { sequences })
  }
}

export function* reassignAll(context: Context, topic: string, options: ReassignAllOptions): Verb<number> {
  checkGiven(verbOptions.reassignAll, options)
  // mutants: equivalent number `first = 0`, no sequence is less than 1
  const { from, to, first = 0, last = Number.MAX_SAFE_INTEGER } = options
  checkTopic(topic)
  checkResult('to', to)
  if (!revivable.includes(from)) throw invalid('from', from, `must be one of ${revivable.join(', ')}`)
  checkInteger('first', first, 0, Number.MAX_SAFE_INTEGER)
  checkInteger('last', last, 0, Number.MAX_SAFE_INTEGER)
  if (first > last || from === stateOf(to)) return 0
  const count = yield* assign(context, topic, to, {
    which: sql`${isIn(context.dialect, from)} and t.sequence between ${first} and ${last}`,
  })
  // mutants: equivalent condition:true, a topic with tasks is known
  if (count === 0) yield* checkKnown(context, topic)
  return count
}

function* assign(context: Context, topic: string, result: TaskResult, which: Pick<Change, 'sequences' | 'which'>): Verb<number> {
  const state = stateOf(result)
  const rows = yield* context.dialect.writes.change({
    topic,
    ...which,
    locked: 'wait',
    // mutants: equivalent sql-boundary `t.state > t.descent`, of two that are equal either is right
    set: sql`
      descent = case when t.state > t.descent then t.state else t.descent end,
      state = ${stateNumbers[state]},
      due = null,
      reason = null,
      ${setBlockingClass(blockingClassOf[state])}`,
    returning: raw('sequence, identifier, stage'),
  })
  // mutants: equivalent boundary number:-1, to forget nothing changes nothing
  if (state !== 'succeeded' && rows.length > 0) yield* forgetResults(context.dialect, topic, sequencesOf(rows))
  yield* enqueueRechecks(context, topic, rows)
  return rows.length
}

function checkResult(argument: string, result: unknown): void {
  if (!taskResults.includes(result as TaskResult)) throw invalid(argument, result, `must be one of ${taskResults.join(', ')}`)
}
