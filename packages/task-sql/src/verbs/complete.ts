import {
  checkMap,
  checkNames,
  checkText,
  invalid,
  TaskDecision,
  TaskError,
  taskLimits,
  taskToString,
  verbOptions,
} from '@taskstream/task-api'
import type { CompleteOptions, Completion, HeldTask } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import type { HeldRequest, HeldValues, RowColumn } from '../core/requests.ts'
import { blockingClasses, blockingClassOf, reasonNumbers, reasons, stages, stateNumbers, states } from '../core/states.ts'
import { nothing, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { recordAttempts } from './attempts.ts'
import { checkHeld, ofHeld, enqueueRechecksOf, split } from './held.ts'
import { isHeld } from '../core/lease.ts'
import { buryFailed } from './dead-letter.ts'
import { checkDiscard, discardEnded } from './discard.ts'
import { keepResults } from './keep-results.ts'
import { setBlockingClass } from './recheck.ts'

const noReason = raw('null')

export function* complete(
  context: Context,
  topic: string,
  decisions: ReadonlyMap<HeldTask, TaskDecision>,
  options: CompleteOptions = {},
): Verb<Completion> {
  checkNames(verbOptions.complete, options)
  const { strict = false, discard, traces } = options
  if (discard !== undefined) checkDiscard(discard)
  if (traces !== undefined) checkTraces(traces)
  checkMap('decisions', decisions, 'of decisions by task')
  const tasks = checkHeld(topic, decisions.keys())
  // mutants: equivalent condition:false, without tasks no statement is made
  if (tasks.length === 0) return { completed: [], lost: [] }
  for (const task of tasks) {
    const decision = decisions.get(task)
    if (!(decision instanceof TaskDecision))
      throw invalid(`decision of ${taskToString(task)}`, decision, 'must be a TaskDecision')
  }
  const columnsOf = (some: readonly HeldTask[]): RowColumn[] => toColumns(some.map((task) => decisions.get(task)!))
  const write = (request: HeldRequest): Verb<ReadonlySet<number>> => {
    const retries = request.tasks.some((task) => isRetry(decisions.get(task)!))
    const reasoned = request.tasks.some((task) => hasReason(decisions.get(task)!))
    const refunds = request.tasks.some((task) => decisions.get(task)!.refunded)
    return context.dialect.writes.changeHeld(request, (values) =>
      outcomeOf(context.dialect, request, values, { retries, reasoned, refunds }),
    )
  }
  const sequences = yield* ofHeld(context, topic, tasks, write, columnsOf)
  const { found, lost } = split(tasks, sequences)
  yield* keepResults(context, topic, found, decisions)
  yield* recordAttempts(context, topic, found, decisions, traces)
  yield* buryFailed(context, topic, found, decisions)
  yield* enqueueRechecksOf(context, topic, found)
  if (discard) yield* discardEnded(context, topic, found, decisions, discard)
  if (strict && lost.length > 0) {
    throw new TaskError(
      'TASK_LOST',
      `${lost.length} of ${tasks.length} tasks are no longer held, the first is ${taskToString(lost[0]!)}`,
      { lost },
    )
  }
  return { completed: found, lost }
}

function checkTraces(traces: NonNullable<CompleteOptions['traces']>): void {
  checkMap('traces', traces, 'of ids of traces by task')
  for (const trace of traces.values()) checkText('a trace', trace, taskLimits.traceLength)
}

function toColumns(decisions: readonly TaskDecision[]): RowColumn[] {
  return [
    { name: 'state', type: 'integer', values: decisions.map(({ state }) => stateNumbers[state]) },
    // mutants: equivalent nullish, undefined is null in JSON
    { name: 'output', type: 'text', values: decisions.map((decision) => decision.toMessage() ?? null) },
    // mutants: equivalent nullish:retryAfterMs `retryAfterMs ?? null`, undefined is null in JSON
    // mutants: equivalent condition:true, no statement reads a column that it does not need
    ...(decisions.some(isRetry)
      ? [{ name: 'delay', type: 'integer' as const, values: decisions.map(({ retryAfterMs }) => retryAfterMs ?? null) }]
      : []),
    ...(decisions.some(({ refunded }) => refunded)
      ? [{ name: 'refund', type: 'integer' as const, values: decisions.map(({ refunded }) => Number(refunded)) }]
      : []),
    // mutants: equivalent condition:true, no statement reads a column that it does not need
    ...(decisions.some(hasReason) ? [{ name: 'reason', type: 'integer' as const, values: decisions.map(toReason) }] : []),
    { name: 'stage', type: 'integer', values: decisions.map(toStage) },
  ]
}

/** The assignments of a completion. Most completions have no retries, reasons or refunds, and get a shorter statement. */
function outcomeOf(
  dialect: Dialect,
  { tasks, now, locked }: HeldRequest,
  rows: HeldValues,
  { retries, reasoned, refunds }: { readonly retries: boolean; readonly reasoned: boolean; readonly refunds: boolean },
): Statement {
  // mutants: equivalent method, the tasks of a topic are alike in this
  const staged = tasks.some((task) => isHeld(task, 'staged'))
  const reason = reasoned ? rows.value('reason') : noReason
  // mutants: equivalent condition:true, only retries read it
  const delay = retries ? rows.value('delay') : nothing
  const unpaid = refunds ? sql` and ${rows.value('refund')} = 0` : nothing
  // mutants: equivalent condition:true, only retries read it
  const exhausted = retries ? sql`(t.max_tries is not null and ${rows.tries} >= t.max_tries${unpaid})` : nothing
  const completed = dialect.expr.now(now)
  const state = rows.value('state')
  const output = rows.value('output')
  const outcome = retries
    ? sql`
           state = case when ${delay} is not null and ${exhausted} then ${states.failed} else ${state} end,
           reason = case when ${delay} is not null and ${exhausted} then ${reasons.tries} else ${reason} end,
           due = case when ${delay} is not null and not ${exhausted} then ${dialect.expr.plusMs(completed, delay)} end`
    : sql`
           state = ${state},
           reason = ${reason}`
  // mutants: equivalent condition:true, the assignment leaves other rows as they are
  const stage = staged ? sql`, ${setBlockingClass(newStage(rows, retries, delay, exhausted))}` : nothing
  const tries = refunds ? sql`${rows.tries} - ${rows.value('refund')}` : rows.tries
  return sql`
           listed = ${dialect.expr.false},
           completed = ${completed},
           output = ${output},${outcome}${stage}${rows.take}${refunds || locked ? sql`, tries = ${tries}` : nothing}`
}

function isRetry({ retryAfterMs }: TaskDecision): boolean {
  return retryAfterMs !== undefined
}

function hasReason({ reason }: TaskDecision): boolean {
  return reason !== undefined
}

function toReason({ reason }: TaskDecision): number | null {
  // mutants: equivalent condition:false, a number of no reason is undefined, and null in JSON
  return reason === undefined ? null : reasonNumbers[reason]
}

/** The blocking class of a decision, as a number. A retry still blocks its identifier, until the task has no tries left. */
function toStage({ state, retryAfterMs }: TaskDecision): number {
  return retryAfterMs === undefined ? blockingClasses[blockingClassOf[state]] : blockingClasses.open
}

function newStage(rows: HeldValues, retries: boolean, delay: Statement, exhausted: Statement): Statement {
  if (!retries) return rows.value('stage')
  return sql`case when ${delay} is not null and ${exhausted} then ${stages.failed} else ${rows.value('stage')} end`
}
