/** What the tests of composites share: tasks that no database has, what is decided of them, and a gate to hold a step at. */
import { toDecision } from '@taskstream/task-api'
import type { HeldTask, TaskError } from '@taskstream/task-api'
import { systemClock } from '@taskstream/task-processor'
import type { Composite, Decisions, HandlerContext } from '@taskstream/task-processor'

/** Tasks of topic `t`: for what steps decide of them, that is all there is to know. */
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

/** For composites without contexts: it has no transaction. What the policy says of an error is a failure that names it. */
export function handlerContext(signal: AbortSignal = new AbortController().signal): HandlerContext<never> {
  return {
    topic: 't',
    signal,
    get aborted() {
      return signal.aborted ? (signal.reason as TaskError) : undefined
    },
    clock: systemClock,
    at: () => {},
    stuck: () => {},
    wake: () => {},
    failed: (_, error) => toDecision(error).include('by the policy'),
    complete: () => Promise.reject(new Error('There is no transaction here')),
  }
}

/** What a batch comes to, in a composite that is opened for it. */
export async function decide(
  pipeline: Composite<never, string>,
  tasks: readonly HeldTask[],
  context: HandlerContext<never> = handlerContext(),
): Promise<Decisions> {
  return (await pipeline.open('t').handle(tasks, context)) as Decisions
}

/** Each task's identifier and what was decided of it, with all that was said: `b failure: broken, by the policy`. */
export function said(decisions: Decisions | void): string[] {
  return [...(decisions ?? [])].map(([{ identifier }, { result, explanations }]) => {
    const texts = explanations.map((one) => (typeof one === 'string' ? one : one.message))
    return `${identifier} ${result}${texts.length > 0 ? `: ${texts.join(', ')}` : ''}`
  })
}

/** Where a step waits until it is let through; `reached` once something waits there. */
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
