import type { HeldTask, TaskCreation } from './task.ts'
import type { TaskDecision } from './task-decision.ts'

/**
 * The tracing channels of `node:diagnostics_channel` on which calls are told of, beside the channels of a node's events. A call of which nobody wants to
 * hear costs one look at its channel.
 */
export const taskChannels = {
  /** Pushes, as `RepositoryCall`. */
  push: 'taskstream:push',
  /** Polls, as `RepositoryCall`. */
  poll: 'taskstream:poll',
  /** Completions, as `RepositoryCall`. */
  complete: 'taskstream:complete',
  /** Heartbeats, as `RepositoryCall`. Those of a thread are told in that thread. */
  heartbeat: 'taskstream:heartbeat',
  /** What processes tell of themselves, as `RepositoryCall`. */
  report: 'taskstream:report',
  /** What people do to tasks and topics, as `RepositoryCall`. */
  action: 'taskstream:action',
  /** Calls of handlers, as `HandlerCall`. */
  handle: 'taskstream:handle',
  /** Steps of composites, as `StepCall`. */
  step: 'taskstream:step',
} as const

/** A channel that is no tracing channel: `eachTask` runs its handler in the stores that are bound to it, as `TaskCall`. */
export const taskChannel = 'taskstream:task'

/** A channel that is no tracing channel: what is submitted, as `SubmitCall`, while it is still the caller's turn. */
export const submitChannel = 'taskstream:submit'

/** A call of a repository's verb. Its result says nothing of the caller's transaction, which may still be rolled back. */
export interface RepositoryCall {
  readonly verb: string
  /** The first argument, where it is a topic. */
  readonly topic?: string
  readonly owner: string
  /**
   * What the verb takes after the transaction. Whoever hears of the start may put another value in the place of one: headers are added to a push in this
   * way.
   */
  readonly args: unknown[]
  /** The database's kind, as OpenTelemetry's conventions name it, such as `postgresql`. */
  readonly system?: string
  /** Where the database's server is, if the driver tells. It is looked up when this is called. */
  readonly server?: () => ServerAddress | undefined
  readonly result?: unknown
  readonly error?: unknown
}

/** Where a server is. */
export interface ServerAddress {
  /** Its name, its IP address, or the path of its socket. */
  readonly address: string
  /** 1 to 65 535. Undefined for a socket in the file system. */
  readonly port?: number
}

/** Something that runs, and that whoever hears of its start may run within a context. */
export interface ContextualCall {
  /** Set at the start, to run the work within a context such as that of a span. It must call `work` at once, and return what that returns. */
  within?: <Result>(work: () => Result) => Result
  /** Set at the start: the span in which the work runs, for logs. */
  span?: { readonly traceId: string; readonly spanId: string }
}

/** A call of a handler with its batch. */
export interface HandlerCall extends ContextualCall {
  readonly topic: string
  readonly tasks: readonly HeldTask[]
  /** What the listener's `onStart` returned. */
  readonly trace?: unknown
  readonly result?: ReadonlyMap<HeldTask, TaskDecision> | void
  readonly error?: unknown
}

/** Creations that are submitted. They are pushed together with those of others, in a context of nobody. */
export interface SubmitCall {
  readonly topic: string
  /** Whoever hears of the call may put others in their place, as many as these. */
  creations: readonly (string | TaskCreation)[]
}

/** A call of a composite's step. An error of the step is a decision in `result`. */
export interface StepCall extends ContextualCall {
  readonly topic: string
  readonly step: string
  readonly tasks: readonly HeldTask[]
  readonly result?: ReadonlyMap<HeldTask, TaskDecision> | void
  readonly error?: unknown
}

/** A call of the handler of a single task. */
export interface TaskCall {
  readonly task: HeldTask
}
