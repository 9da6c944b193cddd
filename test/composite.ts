/** Shared by the tests of composites: tasks without a database, readable decisions, and a gate that holds a step back. */
import { toDecision } from '@taskstream/task-api'
import type { HeldTask, TaskError } from '@taskstream/task-api'
import { systemClock } from '@taskstream/task-processor'
import type { Composite, Decisions, HandlerContext } from '@taskstream/task-processor'

/** Tasks of topic `t`, with the fields that steps need to decide on them. */
export function heldTasks(...identifiers: readonly string[]): HeldTask[] {
  return identifiers.map((identifier, sequence) => ({
    topic: 't',
    sequence,
    identifier,
    lease: sequence as unknown as HeldTask['lease'],
    attempt: 1,
    tries: 1,
    priority: 0,
  }))
}

/** A context for composites without contexts of their own, so it has no transaction. Its policy makes every error a failure. */
export function handlerContext(signal: AbortSignal = new AbortController().signal): HandlerContext<never> {
  return {
    topic: 't',
    signal,
    get aborted() {
      return signal.aborted ? (signal.reason as TaskError) : undefined
    },
    clock: systemClock,
    isHung: false,
    at: () => {},
    stuck: () => {},
    report: () => {},
    wake: () => {},
    failed: (_, error) => toDecision(error).include('by the policy'),
    complete: () => Promise.reject(new Error('There is no transaction here')),
  }
}

/** Opens a composite, runs it on one batch and returns its decisions. */
export async function decide(
  pipeline: Composite<never, string>,
  tasks: readonly HeldTask[],
  context: HandlerContext<never> = handlerContext(),
): Promise<Decisions> {
  return (await pipeline.open('t').handle(tasks, context)) as Decisions
}

/** Each task's identifier, result and explanations, as in `b failure: broken, by the policy`. */
export function said(decisions: Decisions | void): string[] {
  return [...(decisions ?? [])].map(([{ identifier }, { result, explanations }]) => {
    const texts = explanations.map((one) => (typeof one === 'string' ? one : one.message))
    return `${identifier} ${result}${texts.length > 0 ? `: ${texts.join(', ')}` : ''}`
  })
}

/** A place where a step waits until the test opens it. `reached` resolves once a step waits there. */
export interface Gate {
  readonly reached: Promise<void>
  pass(): Promise<void>
  open(): void
}

export function gate(): Gate {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  return {
    reached: reached.promise,
    pass: () => {
      reached.resolve()
      return opened.promise
    },
    open: () => opened.resolve(),
  }
}
