import type { Completion, HeldTask, TaskDecision } from '@taskstream/task-api'

/** What a node was doing when something went wrong. */
export type Activity = 'poll' | 'release' | 'handle' | 'complete' | 'heartbeat' | 'maintenance' | 'listen'

/** Hears what a node does. Every method is optional; one that throws is reported as a process warning and changes nothing. */
export interface TaskListener {
  /** A batch was polled, and its handler begins. */
  onStart?(event: { readonly topic: string; readonly tasks: readonly HeldTask[] }): void
  /** A completion was committed. */
  onComplete?(event: {
    readonly topic: string
    readonly completion: Completion
    readonly decisions: ReadonlyMap<HeldTask, TaskDecision>
  }): void
  /** Tasks were no longer held when they were to be completed: the repository refused, and nothing was written for them. */
  onLost?(event: { readonly topic: string; readonly tasks: readonly HeldTask[] }): void
  /** Something failed. Reported once for each change: a poll that goes on failing is silent until it works again. */
  onError?(event: { readonly activity: Activity; readonly error: unknown; readonly topic?: string }): void
  /** What had failed works again. */
  onRecovered?(event: { readonly activity: Activity; readonly topic?: string }): void
  /** No heartbeat has come through for as long as the lease: others may take over what is held. Handlers are aborted. */
  onLeaseLost?(): void
}

/** A listener whose every method is there and cannot throw. */
export type SafeListener = Required<TaskListener>

export function safeListener(listener: TaskListener): SafeListener {
  const safe =
    <Event extends unknown[]>(name: keyof TaskListener) =>
    (...event: Event): void => {
      try {
        ;(listener[name] as ((...event: Event) => void) | undefined)?.apply(listener, event)
      } catch (error) {
        process.emitWarning(`A task listener's ${name} threw: ${error instanceof Error ? error.stack : String(error)}`)
      }
    }
  return {
    onStart: safe('onStart'),
    onComplete: safe('onComplete'),
    onLost: safe('onLost'),
    onError: safe('onError'),
    onRecovered: safe('onRecovered'),
    onLeaseLost: safe('onLeaseLost'),
  }
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
