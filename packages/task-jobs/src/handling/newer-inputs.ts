import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { HandlerContext } from '@taskstream/task-processor'
import { newerInputOf } from '../definitions/task-input.ts'
import type { TaskDefinition } from '../definitions/task-settings.ts'

/** The first pause, in milliseconds. Each look at the task after that doubles it. */
const firstMs = 1_000
const longestMs = 60_000
/** Every task that newer programs push may come by, each again and again until the deploy is over: so often it is told that they do, in milliseconds. */
const toldEveryMs = 60_000

/** Puts off the tasks of one definition whose inputs a later release has pushed, while this process still runs an earlier one. */
export class NewerInputs {
  readonly #definition: TaskDefinition
  readonly #monotonicMs: () => number
  #toldMs = -Infinity

  constructor(definition: TaskDefinition, monotonicMs: () => number = () => performance.now()) {
    this.#definition = definition
    this.#monotonicMs = monotonicMs
  }

  /** Decides of a task whose input is newer than the definition. The listener hears of one a minute. Undefined if the definition knows the version. */
  snoozed(task: HeldTask, { report }: Pick<HandlerContext<never>, 'report'>): TaskDecision | undefined {
    const newer = newerInputOf(this.#definition, task)
    if (!newer) return undefined
    const decision = TaskDecision.snooze({ afterMs: pauseMs(task) }, newer.message)
    const nowMs = this.#monotonicMs()
    if (nowMs - this.#toldMs < toldEveryMs) return decision
    this.#toldMs = nowMs
    report(newer, new Map([[task, decision]]))
    return decision
  }
}

/**
 * How long a task waits for a newer worker. A rolling deploy is under way: at first the next poll may well be that of a newer worker, so the pause is a
 * second. If only earlier releases run, for minutes or after a deploy was taken back, each look costs a poll and a write, so the pause grows to a minute.
 */
function pauseMs({ attempt, tries }: HeldTask): number {
  // A snooze refunds its try, so the difference says how often the task was put off, or handed back.
  return Math.min(longestMs, firstMs * 2 ** Math.min(attempt - tries, 10))
}
