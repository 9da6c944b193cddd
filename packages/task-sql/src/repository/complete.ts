import { TaskDecision, stateNumber, taskReasons, TaskError, taskToString, invalid } from '@taskstream/task-api'
import type { CompleteOptions, Completion, HeldTask } from '@taskstream/task-api'
import type { HeldRows } from '../dialect.ts'
import { nothing, raw, sql } from '../statement.ts'
import type { Statement } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'
import { checkHeld, noteTurnsOf, split } from './held.ts'
import { setStage, stageOfState, stages } from './turns.ts'

const reasonTries = raw(String(taskReasons.indexOf('tries')))

export function* complete(
  context: Context,
  topic: string,
  decisions: ReadonlyMap<HeldTask, TaskDecision>,
  options: CompleteOptions = {},
): Verb<Completion> {
  const tasks = checkHeld(topic, decisions.keys())
  if (tasks.length === 0) return { completed: [], lost: [] }
  const ordered = tasks.map((task) => {
    const decision = decisions.get(task)
    if (!(decision instanceof TaskDecision))
      throw invalid(`decision of ${taskToString(task)}`, decision, 'must be a TaskDecision')
    return decision
  })
  const update = completeStatement(context, topic, tasks, ordered)
  const sequences = yield* context.dialect.affected(
    update,
    tasks.map(({ sequence }) => sequence),
  )
  const { found, lost } = split(tasks, sequences)
  yield* noteTurnsOf(context, topic, found)
  if (options.strict && lost.length > 0) {
    throw new TaskError(
      'TASK_LOST',
      `${lost.length} of ${tasks.length} tasks are no longer held, the first is ${taskToString(lost[0]!)}`,
      { lost },
    )
  }
  return { completed: found, lost }
}

function completeStatement(
  { dialect, owner, now }: Context,
  topic: string,
  tasks: readonly HeldTask[],
  decisions: readonly TaskDecision[],
): Statement {
  const retries = decisions.some(({ retryAfterMs }) => retryAfterMs !== undefined)
  const rows = dialect.held(topic, owner, tasks, [
    { name: 'state', type: 'integer', values: decisions.map(({ state }) => stateNumber(state)) },
    { name: 'output', type: 'text', values: decisions.map((decision) => decision.toMessage() ?? null) },
    ...(retries
      ? [{ name: 'delay', type: 'integer' as const, values: decisions.map(({ retryAfterMs }) => retryAfterMs ?? null) }]
      : []),
    { name: 'stage', type: 'integer', values: decisions.map(toStage) },
  ])
  const delay = retries ? rows.value('delay') : nothing
  const exhausted = sql`coalesce(t.tries >= t.max_tries, ${dialect.false})`
  const outcome = retries
    ? sql`
           state = case when ${delay} is not null and ${exhausted} then 3 else ${rows.value('state')} end,
           reason = case when ${delay} is not null and ${exhausted} then ${reasonTries} end,
           due = case when ${delay} is not null and not ${exhausted} then ${dialect.plusMs(dialect.now(now()), delay)} end`
    : sql`
           state = ${rows.value('state')}`
  const staged = tasks.some(({ lease }) => lease < 0)
  const stage = staged ? sql`, ${setStage(newStage(rows, retries, delay, exhausted))}` : nothing
  return sql`
    update ${dialect.tables.task} as t
       set listed = ${dialect.false},
           completed = ${dialect.now(now())},
           output = ${rows.value('output')},${outcome}${stage}
      ${rows.updateFrom}
     where ${rows.where}
    returning sequence`
}

/** A retry is still in its identifier's way, until it has no tries left. */
function toStage({ state, retryAfterMs }: TaskDecision): number {
  return retryAfterMs === undefined ? stages[stageOfState[stateNumber(state)] ?? 'ended'] : stages.open
}

function newStage(rows: HeldRows, retries: boolean, delay: Statement, exhausted: Statement): Statement {
  if (!retries) return rows.value('stage')
  return sql`case when ${delay} is not null and ${exhausted} then ${raw(String(stages.failed))} else ${rows.value('stage')} end`
}
