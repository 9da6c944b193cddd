import { tracingChannel } from 'node:diagnostics_channel'
import { carriedDecision, invalid, taskChannels, TaskDecision, TaskError, taskToString } from '@taskstream/task-api'
import type { HeldTask, StepCall, TaskSupplement } from '@taskstream/task-api'
import type { Decisions, HandlerContext } from '../core/task-handler.ts'
import type { RunnableStep, StepContext } from './step.ts'

/** A batch on its way through the steps. */
export interface SteppedBatch {
  readonly tasks: readonly HeldTask[]
  readonly supplement: TaskSupplement
  readonly signal: AbortSignal
  readonly context: Pick<HandlerContext<never>, 'topic' | 'clock' | 'at' | 'failed'>
}

const success = TaskDecision.success()

const channels = tracingChannel<unknown, StepCall>(taskChannels.step)

/**
 * Runs every step once those that it waits for have ended, with the tasks that all of them have continued. Ends when nothing runs any
 * more, and not before.
 *
 * @returns the merged decisions of the steps that no other waits for
 * @throws the signal's reason once it is aborted; TaskError TASK_UNKNOWN if a step decided of a task that it was not given
 */
export async function runSteps(steps: readonly RunnableStep[], batch: SteppedBatch): Promise<Decisions> {
  const broken = new AbortController()
  const signal = AbortSignal.any([batch.signal, broken.signal])
  const beginning: Decisions = new Map(batch.tasks.map((task) => [task, success]))
  const outcomes = new Map<string, Promise<Decisions>>()
  // Each step comes after those that it waits for: there is a promise for every one of them.
  for (const step of steps) {
    const awaited = step.after.map((id) => outcomes.get(id) as Promise<Decisions>)
    const outcome = Promise.all(awaited)
      .then((decisions) => runStep(step, decisions.reduce(TaskDecision.merge, beginning), { ...batch, signal }))
      .catch((error: unknown) => {
        // The batch has failed: running steps are asked to let go, and no other begins.
        broken.abort(error)
        throw error
      })
    outcomes.set(step.id, outcome)
  }
  await Promise.allSettled(outcomes.values())
  // Decisions after an abort are ignored: a step may have done half of its work, or thrown as `fetch` does.
  signal.throwIfAborted()
  const leaves = steps.filter(({ id }) => !steps.some(({ after }) => after.includes(id)))
  const decisions = await Promise.all(leaves.map(({ id }) => outcomes.get(id) as Promise<Decisions>))
  return decisions.reduce(TaskDecision.merge, beginning)
}

async function runStep(step: RunnableStep, incoming: Decisions, batch: SteppedBatch): Promise<Decisions> {
  batch.signal.throwIfAborted()
  const given = [...incoming].flatMap(([task, { continued }]) => (continued ? [task] : []))
  if (given.length === 0) return incoming
  const decided = await (channels.hasSubscribers ? told(step, given, batch) : decide(step, given, batch))
  if (!decided) return incoming
  const known = new Set(given)
  for (const task of decided.keys()) {
    if (!known.has(task)) {
      const message = `Step "${step.id}" decided of ${taskToString(task)}, which it was not given`
      throw new TaskError('TASK_UNKNOWN', message, { task, step: step.id })
    }
  }
  const missing = TaskDecision.failure(`Step "${step.id}" returned no decision for this task`)
  return new Map(
    [...incoming].map(([task, decision]) => [task, known.has(task) ? decision.merge(decided.get(task) ?? missing) : decision]),
  )
}

function told(step: RunnableStep, given: readonly HeldTask[], batch: SteppedBatch): Promise<Decisions | undefined> {
  const call: StepCall = { topic: batch.context.topic, step: step.id, tasks: given }
  const run = (): Promise<Decisions | undefined> => decide(step, given, batch)
  return channels.tracePromise(() => (call.within ? call.within(run) : run()), call)
}

async function decide(
  { run, ...step }: RunnableStep,
  given: readonly HeldTask[],
  { signal, supplement, context: handling }: SteppedBatch,
): Promise<Decisions | undefined> {
  const context: StepContext = {
    topic: handling.topic,
    clock: handling.clock,
    step,
    signal,
    at: (task) => handling.at(task),
    failed: (task, error) => carriedDecision(error) ?? handling.failed(task, error),
  }
  try {
    const decided = await run(given, supplement, context)
    if (decided === undefined) return undefined
    if (!(decided instanceof Map))
      throw invalid(`step "${step.id}"`, decided, 'must return a Map of tasks to decisions, or nothing')
    for (const decision of decided.values())
      if (!(decision instanceof TaskDecision))
        throw invalid(`step "${step.id}"`, decision, 'must map tasks to instances of TaskDecision')
    return decided
  } catch (error) {
    return new Map(given.map((task) => [task, context.failed(task, error)]))
  }
}
