import { invalid } from '@taskstream/task-api'
import type { JobCommit } from '@taskstream/task-jobs'
import { externalProcess } from './command.ts'
import type { ExternalProcessOptions } from './command.ts'
import { failure } from './errors.ts'
import type { Task } from './task.ts'

/** What a handler can do beside its task. */
export interface TaskContext<Transaction> {
  /**
   * Aborted when the handler should let go: it has taken as long as its queue allows, its task was cancelled, or the process is stopping.
   */
  readonly signal: AbortSignal
  /**
   * Does work in the transaction that completes the task: both are committed, or neither. Return what this returns. What the work returns is the result.
   */
  readonly commit: (work: (transaction: Transaction) => unknown) => JobCommit<Transaction>
}

/** Handles a task. What it returns is the payload of the result. What it throws is a failed try: see `TerminateTaskError`. */
export type TaskHandler<Transaction> = (task: Task, context: TaskContext<Transaction>) => unknown

/** Makes a handler of a handler. */
export type TaskMiddleware<Transaction> = (next: TaskHandler<Transaction>) => TaskHandler<Transaction>

/**
 * Makes one middleware of several, the first outermost.
 *
 * @throws TaskError ARGUMENT_INVALID
 */
export function chain<Transaction>(...middleware: readonly TaskMiddleware<Transaction>[]): TaskMiddleware<Transaction> {
  for (const one of middleware)
    if (typeof one !== 'function')
      throw failure('ARGUMENT_INVALID', 'middlewareInvalid', 'it must be a function of a handler', {
        argument: 'middleware',
        value: one,
      })
  return (handler) => middleware.reduceRight((inner, wrap) => wrap(inner), handler)
}

interface Route<Transaction> {
  readonly handler: TaskHandler<Transaction>
  readonly around: TaskMiddleware<Transaction>
}

/**
 * Finds the handlers of tasks by their types: that of the type itself, or else of the longest beginning of it. Beginnings are texts, so `em` is one of
 * `email:new`, and the empty text of every type.
 *
 * @example
 * const router = client.newTaskRouter()
 * router.handleFunc('email', (task, { signal }) => send(task.json(), signal))
 */
export class TaskRouter<Transaction = unknown> {
  readonly #routes = new Map<string, Route<Transaction>>()
  readonly #global: TaskMiddleware<Transaction>[] = []

  /**
   * Has the tasks of a type handled, and those whose types begin with it.
   *
   * @param middleware around this handler alone, the first outermost, inside of what `use` adds
   * @throws TaskError LIFECYCLE if there is a handler for this type; ARGUMENT_INVALID
   */
  handleFunc(type: string, handler: TaskHandler<Transaction>, ...middleware: readonly TaskMiddleware<Transaction>[]): this {
    if (typeof type !== 'string') throw invalid('type', type, 'must be a string')
    if (typeof handler !== 'function') throw invalid('handler', handler, `of the type "${type}" must be a function`)
    const around = chain(...middleware)
    if (this.#routes.has(type)) throw failure('LIFECYCLE', 'handlerDuplicate', `"${type}"`, { type })
    this.#routes.set(type, { handler, around })
    return this
  }

  /**
   * Has a program handle the tasks of a type. It reads the task as JSON from the file that CHORIA_AJ_TASK names, and what it prints is the result. An exit
   * code other than 0 is a failed try.
   *
   * @throws TaskError as `handleFunc`; RUNTIME_UNSUPPORTED on Windows
   */
  externalProcess(type: string, command: string, options: ExternalProcessOptions = {}): this {
    return this.handleFunc(type, externalProcess(command, options))
  }

  /** Puts middleware around all handlers, also around those that are there already. The first is the outermost. @throws TaskError ARGUMENT_INVALID */
  use(...middleware: readonly TaskMiddleware<Transaction>[]): this {
    chain(...middleware)
    this.#global.push(...middleware)
    return this
  }

  /** The handler of a task with its middleware. One that throws ROUTE_MISSING, without any middleware, if there is none. */
  handler({ type, id }: Pick<Task, 'type' | 'id'>): TaskHandler<Transaction> {
    const route = this.#find(type)
    if (route) return chain(...this.#global)(route.around(route.handler))
    return () => {
      throw failure('ROUTE_MISSING', 'handlerMissing', `"${type}"`, { type, id })
    }
  }

  #find(type: string): Route<Transaction> | undefined {
    // Of the beginnings of a type, the longest is the type itself.
    for (let length = type.length; length >= 0; length--) {
      const route = this.#routes.get(type.slice(0, length))
      if (route) return route
    }
    return undefined
  }
}
