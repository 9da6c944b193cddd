import { channel } from 'node:diagnostics_channel'
import type { Channel } from 'node:diagnostics_channel'
import { invalid, thrownText } from '@taskstream/task-api'
import type { Completion, HeldTask, TaskDecision, TimerKey } from '@taskstream/task-api'
import type { Outcomes } from './outcomes.ts'

/** What a node was doing when something went wrong. */
export type Activity =
  | 'poll'
  | 'promoteDue'
  | 'limit'
  | 'handle'
  | 'complete'
  | 'heartbeat'
  | 'maintenance'
  | 'listen'
  | 'activation'
  | 'watch'
  | 'report'
  | 'timers'

/** A batch, in the events about it. `trace` is what `onStart` returned. */
export interface BatchEvent {
  readonly topic: string
  readonly tasks: readonly HeldTask[]
  readonly trace?: unknown
}

/**
 * Gets the events of a node. Every method is optional. If a method throws, a process warning reports the error, and nothing else changes. The same events
 * are published on channels of `node:diagnostics_channel` with the methods' names, such as `taskstream:onStart`.
 */
export interface TaskListener {
  /** A batch was polled, and its handler begins. Later events of the batch have the returned value as `trace`. */
  onStart?(event: BatchEvent): unknown
  /** The handler was called, and has returned or thrown; a promise that it returned may still be pending. */
  onDispatched?(event: BatchEvent): void
  /** The batch is about to be completed. */
  onCallback?(event: BatchEvent): void
  /**
   * A completion was committed. `outcomes` counts what has become of its tasks: a retry is no suspension, and of a task that has no tries left it is a
   * failure. `tasks` has only part of the batch if the batch could not be written as a whole.
   */
  onComplete?(
    event: BatchEvent & {
      readonly completion: Completion
      readonly decisions: ReadonlyMap<HeldTask, TaskDecision>
      readonly outcomes: Outcomes
    },
  ): void
  /** Tasks were no longer held when they were to be completed: the repository refused, and nothing was written for them. */
  onLost?(event: BatchEvent): void
  /** Tasks were handed back undone: they are ready again, with their try refunded. */
  onReturned?(event: BatchEvent): void
  /**
   * A handler did not let go in time. Its tasks, or the task `at`, were decided without it. Later decisions of the handler are refused, but its code runs
   * on.
   */
  onStuck?(event: BatchEvent & { readonly heldMs: number; readonly at?: HeldTask }): void
  /** A poll found nothing. */
  onEmpty?(event: { readonly topic: string }): void
  /**
   * Something failed. Repeated failures of a poll, say, are reported once until the poll works again. With the activity `complete`, `tasks` are the tasks
   * that could not be written as decided, if there are such tasks. `decisions` are what the error makes of the tasks of a handler, such as a retry; they
   * are about to be written. Undefined if the error decides nothing, as after a rollback in transactional mode, where the tasks are ready again.
   * With the activity `timers`, `timer` is the one that could not be fired, if it was not the look for timers that has failed.
   */
  onError?(
    event: {
      readonly activity: Activity
      readonly error: unknown
      readonly decisions?: ReadonlyMap<HeldTask, TaskDecision>
      readonly timer?: TimerKey
    } & Partial<BatchEvent>,
  ): void
  /** An activity that had failed works again. */
  onRecovered?(event: { readonly activity: Activity; readonly topic?: string }): void
  /**
   * A topic is not processed, or no longer, because of a lasting error. Its handler could not be opened, the topic has another order (TOPIC_DIFFERENT), or
   * a limiter has thrown. The node's other topics go on; `manager.start()` tries this topic again. Default: a process warning.
   */
  onFatal?(event: { readonly topic: string; readonly error: unknown }): void
  /** No heartbeat has come through during a whole lease, so others may take the tasks. Handlers are aborted. */
  onLeaseLost?(event: { readonly leaseMs: number }): void
  /**
   * Somebody has asked this process to take no more tasks (`repository.quiet`), or to take tasks again. What it holds it finishes. It learns so when it
   * reports, within half a minute.
   */
  onQuiet?(event: { readonly quiet: boolean }): void
  /** The event loop stood still for `blockedMs`. `batches` were being handled; `at` is the task whose handler was called last. */
  onBlocked?(event: { readonly blockedMs: number; readonly batches: readonly (BatchEvent & { readonly at?: HeldTask })[] }): void
}

/** A listener that has every method. None of them throws. */
export type SafeListener = Required<TaskListener>

/** Makes one listener of several. The first answer counts. @throws TaskError ARGUMENT_INVALID unless each is an object */
export function safeListener(...listeners: readonly TaskListener[]): SafeListener {
  const wrong = listeners.findIndex((each) => typeof each !== 'object' || each === null)
  if (wrong >= 0)
    throw invalid('listener', listeners[wrong], 'must be an object with methods such as onError, or a list of such objects')
  const safe = <Name extends keyof TaskListener>(name: Name): SafeListener[Name] => {
    const published: Channel = channel(`taskstream:${name}`)
    const hear = (event: unknown): unknown => {
      if (published.hasSubscribers) published.publish(event)
      else if (name === 'onFatal' && !listeners.some(({ onFatal }) => onFatal))
        warnFatal(event as Parameters<SafeListener['onFatal']>[0])
      let first: unknown
      for (const listener of listeners) {
        const answer = tell(listener, name, event)
        first ??= answer
      }
      return first
    }
    return hear as SafeListener[Name]
  }
  return {
    onStart: safe('onStart'),
    onDispatched: safe('onDispatched'),
    onCallback: safe('onCallback'),
    onComplete: safe('onComplete'),
    onLost: safe('onLost'),
    onReturned: safe('onReturned'),
    onStuck: safe('onStuck'),
    onEmpty: safe('onEmpty'),
    onError: safe('onError'),
    onRecovered: safe('onRecovered'),
    onFatal: safe('onFatal'),
    onLeaseLost: safe('onLeaseLost'),
    onQuiet: safe('onQuiet'),
    onBlocked: safe('onBlocked'),
  }
}

/** A listener of which a part of the node hears too. The part throws nothing, answers nothing, and counts as nobody who would see a fatal error. */
export function overheard(listener: SafeListener, part: TaskListener): SafeListener {
  const all: Record<string, (event: never) => unknown> = { ...listener }
  for (const [name, hear] of Object.entries(part) as [keyof TaskListener, (event: never) => void][]) {
    const tellOthers = all[name]
    if (!tellOthers) continue
    all[name] = (event) => {
      hear(event)
      return tellOthers(event)
    }
  }
  return all as unknown as SafeListener
}

function tell(listener: TaskListener, name: keyof TaskListener, event: unknown): unknown {
  try {
    const answer = (listener[name] as ((event: unknown) => unknown) | undefined)?.call(listener, event)
    if (answer instanceof Promise) answer.catch((error: unknown) => warn(`A task listener's ${name}`, error))
    return answer
  } catch (error) {
    warn(`A task listener's ${name}`, error)
    return undefined
  }
}

/** Reports a topic that is not processed, if the listener has no `onFatal`. */
function warnFatal({ topic, error }: Parameters<SafeListener['onFatal']>[0]): void {
  process.emitWarning(`Topic "${topic}" is not processed: ${thrownText(error)}`)
}

/** Reports an error of a listener, which must not make anything else fail. */
export function warn(who: string, error: unknown): void {
  process.emitWarning(`${who} threw: ${thrownText(error)}`)
}

/** Turns a run of failures into one event, and the first success after it into another. */
export class Condition {
  readonly #listener: SafeListener
  readonly #where: { readonly activity: Activity; readonly topic?: string }
  #failures = 0

  constructor(listener: SafeListener, activity: Activity, topic?: string) {
    this.#listener = listener
    this.#where = topic === undefined ? { activity } : { activity, topic }
  }

  /** How many failures there have been since the last success. */
  get failures(): number {
    return this.#failures
  }

  failed(error: unknown): void {
    if (this.#failures++ === 0) this.#listener.onError({ ...this.#where, error })
  }

  worked(): void {
    if (this.#failures > 0) this.#listener.onRecovered(this.#where)
    this.#failures = 0
  }
}
