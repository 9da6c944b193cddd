/** Fields for logs. Importing this is enough: from then on handlers know which task they are about. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { channel, tracingChannel } from 'node:diagnostics_channel'
import { taskChannel, taskChannels } from '@taskstream/task-api'
import type { HandlerCall, HeldTask, TaskCall } from '@taskstream/task-api'

/** What a line of a log is about. */
export interface TaskFields {
  readonly topic?: string
  readonly sequence?: number
  readonly identifier?: string
  readonly attempt?: number
  readonly trace_id?: string
  readonly span_id?: string
}

const handlers = new AsyncLocalStorage<HandlerCall>()
const tasks = new AsyncLocalStorage<TaskCall>()

tracingChannel<HandlerCall, HandlerCall>(taskChannels.handle).start?.bindStore(handlers, (call) => call)
channel(taskChannel).bindStore(tasks, (call) => call as TaskCall)

/**
 * The task that the running handler is about, for each line that it logs; nothing outside of handlers. Of a handler that gets several tasks at once only
 * the topic is known, unless `eachTask` calls it. The trace is that of the handler's span, or else that of the push, if its header is there.
 *
 * @example
 * const log = pino({ mixin: taskFields })
 */
export function taskFields(): TaskFields {
  const call = handlers.getStore()
  if (!call) return {}
  const each = tasks.getStore()?.task
  const task = each && call.tasks.includes(each) ? each : call.tasks.length === 1 ? call.tasks[0] : undefined
  const trace = call.span ? { trace_id: call.span.traceId, span_id: call.span.spanId } : traceOf(task)
  if (!task) return { topic: call.topic, ...trace }
  const { topic, sequence, identifier, attempt } = task
  return { topic, sequence, identifier, attempt, ...trace }
}

function traceOf(task: HeldTask | undefined): Pick<TaskFields, 'trace_id'> {
  const header = task?.headers?.['traceparent']
  const [, trace_id] = typeof header === 'string' ? (/^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-/.exec(header) ?? []) : []
  return trace_id === undefined ? {} : { trace_id }
}
