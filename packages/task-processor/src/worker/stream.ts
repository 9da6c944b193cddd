import { TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { ProcessOptions } from './process-options.ts'
import type { BatchHandler, Decisions, HandlerContext, TaskHandlerFactory } from '../core/task-handler.ts'
import type { TaskManager } from './task-manager.ts'

export interface StreamOptions<Transaction> extends Omit<ProcessOptions<Transaction>, 'handler' | 'mode'> {
  /** Ends the stream: the batch that is being looked at goes on, and no other follows. */
  readonly signal?: AbortSignal
}

/** A batch of a stream. A task that is not decided of when the next batch is asked for fails; left by `break`, it is handed back. */
export interface StreamBatch<Transaction> extends Pick<HandlerContext<Transaction>, 'complete' | 'signal' | 'failed'> {
  readonly topic: string
  readonly tasks: readonly HeldTask[]
}

/** A batch on its way from the poll loop to who iterates. */
interface Waiting<Transaction> {
  readonly tasks: readonly HeldTask[]
  readonly context: HandlerContext<Transaction>
  readonly settle: (decisions?: Decisions) => void
  readonly refuse: (reason: unknown) => void
}

/**
 * The batches of a topic, as they are pulled.
 *
 * @param open begins to process the topic with a handler, once the first batch is asked for
 * @param leave ends that
 */
export async function* stream<Transaction>(
  topic: string,
  signal: AbortSignal | undefined,
  open: (handler: TaskHandlerFactory<Transaction>) => TaskManager<Transaction>,
  leave: (manager: TaskManager<Transaction>) => Promise<unknown>,
): AsyncGenerator<StreamBatch<Transaction>, void, void> {
  const waiting: Waiting<Transaction>[] = []
  const over = new AbortController()
  let wake = (): void => {}
  const end = (): void => {
    over.abort()
    // Nobody will look at them.
    for (const { refuse } of waiting.splice(0)) refuse(shutdown(topic))
    wake()
  }
  const handle: BatchHandler<Transaction> = (tasks, context) => {
    const { promise, resolve, reject } = Promise.withResolvers<Decisions | void>()
    if (over.signal.aborted) return Promise.reject(shutdown(topic))
    const one = { tasks, context, settle: resolve, refuse: reject }
    context.signal.addEventListener('abort', () => {
      const index = waiting.indexOf(one)
      if (index >= 0) waiting.splice(index, 1)
      if (index >= 0) reject(context.signal.reason as Error)
    })
    waiting.push(one)
    wake()
    return promise
  }
  if (signal?.aborted) return
  const manager = open({ open: () => ({ handle, close: end }) })
  signal?.addEventListener('abort', end)
  let current: Waiting<Transaction> | undefined
  try {
    while (!over.signal.aborted) {
      current = waiting.shift()
      if (!current) {
        await new Promise<void>((resolve) => (wake = resolve))
        continue
      }
      const { tasks, context, settle } = current
      const { signal: batchSignal, failed } = context
      const complete: typeof context.complete = (decide) => {
        // Completed by who looks at it, there is nothing left to be handed back.
        const completed = context.complete(decide)
        settle()
        return completed
      }
      yield { topic, tasks, signal: batchSignal, complete, failed }
      // What is left undecided fails: the stream has decided nothing of it.
      current.settle(new Map())
      current = undefined
    }
  } finally {
    signal?.removeEventListener('abort', end)
    current?.refuse(shutdown(topic))
    end()
    await leave(manager)
  }
}

function shutdown(topic: string): TaskError {
  return new TaskError('SHUTDOWN', `The stream of topic "${topic}" has ended`, { topic })
}
