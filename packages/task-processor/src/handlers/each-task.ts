import { channel } from 'node:diagnostics_channel'
import {
  checkInteger,
  checkNames,
  invalid,
  isTaskError,
  optionNames,
  taskChannel,
  TaskDecision,
  TaskError,
  taskToString,
} from '@taskstream/task-api'
import type { HeldTask, TaskCall } from '@taskstream/task-api'
import pLimit from 'p-limit'
import type { BatchHandler, HandlerContext } from '../core/task-handler.ts'

/** Handles one task. A handler that returns nothing succeeds. An error, or a result that is no decision, fails this task only. */
export type SingleHandler<Transaction> = (
  task: HeldTask,
  context: HandlerContext<Transaction>,
) => TaskDecision | void | Promise<TaskDecision | void>

export interface EachTaskOptions {
  /** How many tasks of a batch are handled at a time, 1 to 1000. Default 1: one after the other, in their order. */
  readonly concurrency?: number
  /** How long one task may take, in milliseconds, 1 to one day. Then its signal is aborted with TASK_TIMEOUT. Default: no limit. */
  readonly timeoutMs?: number
  /** How long a handler may go on once its time is up, in milliseconds, 0 to one day, before its task is decided without it. Default 2 000. */
  readonly abortMs?: number
}

const names = optionNames<EachTaskOptions>('eachTask', { concurrency: true, timeoutMs: true, abortMs: true })

const success = TaskDecision.success()
/** Gives the try back: another process may have room for it. */
const later = TaskDecision.snooze({ afterMs: 0 })

const calls = channel(taskChannel)

/**
 * Makes a batch handler from a handler of single tasks.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * handler: eachTask(async (task, { signal }) => { await send(task.input, { signal }) }, { concurrency: 10, timeoutMs: 30_000 })
 */
export function eachTask<Transaction>(
  handle: SingleHandler<Transaction>,
  options: EachTaskOptions = {},
): BatchHandler<Transaction> {
  if (typeof handle !== 'function') throw invalid('handle', handle, 'must be a function of a task')
  checkNames(names, options)
  const { concurrency = 1, timeoutMs, abortMs = 2_000 } = options
  checkInteger('concurrency', concurrency, 1, 1_000)
  if (timeoutMs !== undefined) checkInteger('timeoutMs', timeoutMs, 1, 86_400_000)
  checkInteger('abortMs', abortMs, 0, 86_400_000)
  const handleAnyhow = timeoutMs === undefined ? handle : timed(handle, timeoutMs, abortMs, concurrency)
  // Tasks of a batch may be handled side by side, and what is logged meanwhile is of one of them.
  const handleTold: SingleHandler<Transaction> = (task, context) =>
    calls.runStores({ task } satisfies TaskCall, () => handleAnyhow(task, context))

  /** Decides of one task, or leaves it undecided: of a batch that was aborted it is handed back. A promise only if one is waited for. */
  const decide = (
    task: HeldTask,
    context: HandlerContext<Transaction>,
    decisions: Map<HeldTask, TaskDecision>,
    handleOne: SingleHandler<Transaction>,
  ): void | Promise<void> => {
    if (context.aborted) return undefined
    if (context.isHung) return void decisions.set(task, later)
    context.at(task)
    try {
      const outcome = handleOne(task, context)
      if (isThenable(outcome)) return decideLater(task, context, decisions, outcome)
      decisions.set(task, decisionOf(task, outcome))
    } catch (error) {
      refuse(task, context, decisions, error)
    }
    return undefined
  }

  return async (batch, context) => {
    const decisions = new Map<HeldTask, TaskDecision>()
    const handleOne = calls.hasSubscribers ? handleTold : handleAnyhow
    if (concurrency > 1) await pLimit(concurrency).map(batch, (task) => decide(task, context, decisions, handleOne))
    else {
      for (const task of batch) {
        const pending = decide(task, context, decisions, handleOne)
        // A batch of a thousand synchronous tasks is one turn.
        if (pending) await pending
      }
    }
    return decisions
  }
}

async function decideLater<Transaction>(
  task: HeldTask,
  context: HandlerContext<Transaction>,
  decisions: Map<HeldTask, TaskDecision>,
  outcome: PromiseLike<TaskDecision | void>,
): Promise<void> {
  try {
    decisions.set(task, decisionOf(task, await outcome))
  } catch (error) {
    refuse(task, context, decisions, error)
  }
}

function decisionOf(task: HeldTask, decision: TaskDecision | void): TaskDecision {
  const decided: unknown = decision ?? success
  if (decided instanceof TaskDecision) return decided
  throw invalid(`decision of ${taskToString(task)}`, decided, 'must be a TaskDecision, or nothing')
}

/** What it throws because it was asked to let go is no failure of the task, unless it was asked because it took too long. */
function refuse<Transaction>(
  task: HeldTask,
  context: HandlerContext<Transaction>,
  decisions: Map<HeldTask, TaskDecision>,
  error: unknown,
): void {
  if (!context.aborted || isTaskError(context.aborted, 'TASK_TIMEOUT')) decisions.set(task, context.failed(task, error))
}

/** Asks each task's handler to let go when its time is up, and does not wait for one that goes on. */
function timed<Transaction>(
  handle: SingleHandler<Transaction>,
  timeoutMs: number,
  abortMs: number,
  concurrency: number,
): SingleHandler<Transaction> {
  return async (task, context) => {
    const { clock, signal } = context
    const own = new AbortController()
    const givenUp = Promise.withResolvers<never>()
    const late = new TaskError('TASK_TIMEOUT', `${taskToString(task)} took longer than ${timeoutMs} ms`, { timeoutMs, task })
    let cancel = clock.after(timeoutMs, () => {
      own.abort(late)
      cancel = clock.after(abortMs, () => {
        context.stuck(task, timeoutMs + abortMs, handled, concurrency)
        givenUp.reject(late)
      })
    })
    let handled: PromiseLike<TaskDecision | void> | undefined
    try {
      const outcome = handle(task, {
        ...context,
        signal: AbortSignal.any([signal, own.signal]),
        get aborted() {
          return context.aborted ?? (own.signal.aborted ? late : undefined)
        },
        get isHung() {
          return context.isHung
        },
      })
      if (!isThenable(outcome)) return outcome
      // Asked once: what is lazy, like a query builder, begins anew each time.
      handled = Promise.resolve(outcome)
      return await Promise.race([handled, givenUp.promise])
    } catch (error) {
      throw own.signal.aborted ? late : error
    } finally {
      cancel()
    }
  }
}

function isThenable<Result>(outcome: Result | PromiseLike<Result>): outcome is PromiseLike<Result> {
  return typeof (outcome as Partial<PromiseLike<Result>> | undefined)?.then === 'function'
}
