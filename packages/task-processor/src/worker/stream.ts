import { invalid, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { ProcessOptions } from './process-options.ts'
import type { BatchHandler, Decisions, HandlerContext } from '../core/task-handler.ts'
import type { TaskManager } from './task-manager.ts'

export interface StreamOptions<Transaction> extends Omit<ProcessOptions<Transaction>, 'handler' | 'mode'> {
  /** Ends the stream after the current batch. */
  readonly signal?: AbortSignal
}

/** A batch of a stream. Tasks that are undecided when the next batch is asked for fail. After a `break` they are handed back. */
export interface StreamBatch<Transaction> extends Pick<HandlerContext<Transaction>, 'complete' | 'signal' | 'failed'> {
  readonly topic: string
  readonly tasks: readonly HeldTask[]
}

/** A batch on its way from the poll loop to the iteration. */
interface Waiting<Transaction> {
  readonly tasks: readonly HeldTask[]
  readonly context: HandlerContext<Transaction>
  readonly settle: (decisions?: Decisions) => void
  readonly refuse: (reason: unknown) => void
}

/**
 * Yields the batches of a topic.
 *
 * @param open begins to process the topic with a handler; called when the first batch is asked for
 * @param leave ends the processing of the topic
 */
export async function* stream<Transaction>(
  topic: string,
  options: StreamOptions<Transaction>,
  open: (options: ProcessOptions<Transaction>) => TaskManager<Transaction>,
  leave: (manager: TaskManager<Transaction>) => Promise<unknown>,
): AsyncGenerator<StreamBatch<Transaction>, void, void> {
  if (typeof options !== 'object' || options === null) throw invalid('options', options, 'of stream must be an object')
  const { signal, ...others } = options
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid('signal', signal, 'must be an AbortSignal')
  const waiting: Waiting<Transaction>[] = []
  const over = new AbortController()
  let wake = (): void => {}
  const end = (): void => {
    over.abort()
    // No iteration will get these batches.
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
  const manager = open({ ...others, handler: { open: () => ({ handle, close: end }) } })
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
        // After a completion in the loop, nothing is left to be handed back.
        const completed = context.complete(decide)
        settle()
        return completed
      }
      yield { topic, tasks, signal: batchSignal, complete, failed }
      // Without decisions, tasks that the loop has not completed fail.
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
