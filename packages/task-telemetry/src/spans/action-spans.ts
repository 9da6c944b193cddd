/** Spans of what people do to tasks, and of polls. */
import { taskChannels } from '@taskstream/task-api'
import type { HeldTask, RepositoryCall } from '@taskstream/task-api'
import { SpanKind } from '@opentelemetry/api'
import type { Span } from '@opentelemetry/api'
import { messaging, own } from '../core/conventions.ts'
import { Beside, hearCalls } from '../core/hearing.ts'
import type { Unsubscribe } from '../core/hearing.ts'
import { linksOf } from './carrier.ts'
import { beginnings, failBy, tellDatabase } from './tracing.ts'
import type { Tracing } from './tracing.ts'

export function hearActions(tracing: Tracing): Unsubscribe {
  const spans = new Beside<RepositoryCall, Span>()
  return hearCalls<RepositoryCall>(taskChannels.action, {
    started: (call) => {
      const { verb, topic } = call
      const name = topic === undefined ? verb : `${verb} ${topic}`
      const attributes = { ...tracing.system, ...(topic !== undefined && { [messaging.destination]: topic }) }
      const span = tracing.tracer.startSpan(name, { kind: SpanKind.INTERNAL, attributes })
      if (span.isRecording()) tellDatabase(tracing, span, call)
      spans.set(call, span)
    },
    ended: (call) => {
      const span = spans.get(call)
      if (!span) return
      const count = countOf(call.result)
      if (count !== undefined) span.setAttribute(own.action, count)
      if ('error' in call) failBy(span, call.error)
      span.end()
    },
  })
}

/** A poll that finds nothing has no span, as most polls of an idle topic do. */
export function hearPolls(tracing: Tracing): Unsubscribe {
  const startedMs = new Beside<RepositoryCall, number>()
  const beginningOf = beginnings(tracing, 'poll', { kind: SpanKind.CLIENT })
  return hearCalls<RepositoryCall>(taskChannels.poll, {
    started: (call) => startedMs.set(call, Date.now()),
    ended: (call) => {
      const { topic, owner } = call
      const startTime = startedMs.get(call)
      const tasks = (call.result ?? []) as readonly HeldTask[]
      if (topic === undefined || startTime === undefined || (tasks.length === 0 && !('error' in call))) return
      const { name, options } = beginningOf(topic)
      const span = tracing.tracer.startSpan(name, { ...options, startTime })
      if (span.isRecording()) {
        span.setAttribute(messaging.clientId, owner)
        span.setAttribute(messaging.batchCount, tasks.length)
        span.addLinks(linksOf(tasks, tracing.propagator))
        tellDatabase(tracing, span, call)
      }
      if ('error' in call) failBy(span, call.error)
      span.end()
    },
  })
}

/** How many tasks an action was about, in whichever form its verb says so. */
function countOf(result: unknown): number | undefined {
  if (typeof result === 'number') return result
  if (typeof result === 'boolean') return result ? 1 : 0
  if (Array.isArray(result)) return result.length
  if (typeof result !== 'object' || result === null) return undefined
  const [first] = Object.values(result) as unknown[]
  return typeof first === 'object' && !Array.isArray(first) ? undefined : countOf(first)
}
