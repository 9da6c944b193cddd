/** Copies of failed tasks in another topic, pushed in the transaction in which they fail. */
import { isTaskError, taskLimits } from '@taskstream/task-api'
import type { HeldTask, TaskCreation, TaskDecision, TaskHeaders, TaskKey } from '@taskstream/task-api'
import { states } from '../core/states.ts'
import { infoColumns, sequencesOf, toState, toTaskInfo } from '../core/task-row.ts'
import { sql } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { deadLetterOf } from './limits.ts'
import { push } from './push.ts'

type Dead = Pick<HeldTask, 'sequence' | 'identifier' | 'input' | 'headers' | 'priority' | 'reference'>

/** Pushes copies of those completed tasks that their decisions have failed for good. */
export function* buryFailed(
  context: Context,
  topic: string,
  tasks: readonly HeldTask[],
  decisions: ReadonlyMap<HeldTask, TaskDecision>,
): Verb<void> {
  const failed = tasks.filter((task) => hasFailed(task, decisions.get(task)!))
  if (failed.length > 0) yield* bury(context, topic, failed)
}

/** Pushes copies of tasks that have failed because their owners died. @param rows `sequence` and `state` of changed rows */
export function* buryExhausted(context: Context, topic: string, rows: readonly Row[]): Verb<void> {
  // mutants: equivalent method, the rows are read by their state once more
  const failed = rows.filter(({ state }) => toState(state) === 'failed')
  // mutants: equivalent condition:false, of no tasks no copies are made
  if (failed.length === 0) return
  // mutants: equivalent condition:false, `bury` asks for the topic once more
  if ((yield* deadLetterOf(context, topic)) === undefined) return
  const { dialect } = context
  const read = yield sql`
    select ${infoColumns(dialect)}
      from ${dialect.paths.byKeys(topic, sequencesOf(failed))} and t.state = ${states.failed}`
  yield* bury(
    context,
    topic,
    read.map((row) => toTaskInfo(topic, row)),
  )
}

/** Whether a decision has failed its task: the statement of the completion says it in SQL. */
export function hasFailed({ tries, maxTries }: HeldTask, { state, retryAfterMs, refunded }: TaskDecision): boolean {
  if (retryAfterMs === undefined) return state === 'failed'
  return !refunded && maxTries !== undefined && tries >= maxTries
}

function* bury(context: Context, topic: string, tasks: readonly Dead[]): Verb<void> {
  const target = yield* deadLetterOf(context, topic)
  if (target === undefined) return
  try {
    yield* push(
      context,
      target,
      tasks.map((task) => copyOf(topic, task)),
    )
  } catch (error) {
    // If that topic was destroyed, the tasks stay where they are, and their completion is not refused.
    if (!isTaskError(error, 'TOPIC_UNKNOWN')) throw error
  }
}

/** With an external id, a copy that is made again finds the first one. */
function copyOf(topic: string, { sequence, identifier, input, headers, priority, reference }: Dead): TaskCreation {
  return {
    identifier,
    externalId: `${topic}/${sequence}`,
    headers: headersOf(headers, { topic, sequence }),
    ...(input !== undefined && { input }),
    ...(priority !== 0 && { priority }),
    ...(reference !== undefined && { reference }),
  }
}

/** Where there is no room for both, the copy says only what it is a copy of: a task must be able to fail. */
function headersOf(headers: TaskHeaders | undefined, of: TaskKey): TaskHeaders {
  const dead = { topic: of.topic, sequence: of.sequence }
  const all = { ...headers, dead }
  return JSON.stringify(all).length > taskLimits.headersLength ? { dead } : all
}
