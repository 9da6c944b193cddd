/** Spans of pushes, and the context that they give to tasks. */
import { taskChannels, submitChannel } from '@taskstream/task-api'
import type { PushedTask, PushOptions, RepositoryCall, SubmitCall } from '@taskstream/task-api'
import { context as contexts, SpanKind, trace, TraceFlags } from '@opentelemetry/api'
import type { Context, Span, SpanContext } from '@opentelemetry/api'
import { messaging, own } from '../core/conventions.ts'
import { Beside, hear, hearCalls } from '../core/hearing.ts'
import type { Unsubscribe } from '../core/hearing.ts'
import { bringsContext, linksOf, withContext } from './carrier.ts'
import type { Creation } from './carrier.ts'
import { beginnings, failBy, tellDatabase } from './tracing.ts'
import type { Tracing } from './tracing.ts'

/** A push that is recorded, with the spans of its creations where each has one. */
interface Pushing {
  readonly span: Span
  readonly creates: readonly (Span | undefined)[]
}

export function hearPushes(tracing: Tracing): readonly Unsubscribe[] {
  const pushes = new Beside<RepositoryCall, Pushing>()
  const begin = beginner(tracing)
  return [
    hearCalls<RepositoryCall>(taskChannels.push, {
      started: (call) => {
        const pushing = call.topic === undefined ? undefined : begin(call, call.topic)
        if (pushing) pushes.set(call, pushing)
      },
      ended: (call) => {
        const pushing = pushes.get(call)
        if (pushing) end(pushing, call)
      },
    }),
    hear<SubmitCall>(submitChannel, (call) => {
      const active = contexts.active()
      if (travels(tracing, trace.getSpanContext(active))) call.creations = withContext(call.creations, active, tracing.propagator)
    }),
  ]
}

/** Begins the span of a push. Of one that is not sampled nothing is kept. */
function beginner(tracing: Tracing): (call: RepositoryCall, topic: string) => Pushing | undefined {
  const { tracer, propagator, createSpans } = tracing
  const asCreator = beginnings(tracing, 'push', { kind: SpanKind.PRODUCER })
  const asClient = beginnings(tracing, 'push', { kind: SpanKind.CLIENT })
  const createOf = beginnings(tracing, 'create', { kind: SpanKind.PRODUCER })
  /** A span for one task, which ends when its push does. */
  const create = (topic: string, creation: Creation, context: Context): Span | undefined => {
    if (bringsContext(creation, propagator)) return undefined
    const { name, options } = createOf(topic)
    return tracer.startSpan(name, options, context)
  }
  return (call, topic) => {
    const [, given, pushOptions] = call.args as [string, Creation | readonly Creation[], PushOptions | undefined]
    const creations: readonly Creation[] = Array.isArray(given) ? given : [given]
    const isCreator = !createSpans && creations.some((creation) => !bringsContext(creation, propagator))
    const active = contexts.active()
    const { name, options } = (isCreator ? asCreator : asClient)(topic)
    const span = tracer.startSpan(name, options, active)
    const isRecording = span.isRecording()
    if (isRecording) {
      if (creations.length > 1) span.setAttribute(messaging.batchCount, creations.length)
      if (pushOptions?.insertion !== undefined) span.setAttribute(own.insertion, pushOptions.insertion)
      span.addLinks(linksOf(creations, propagator))
      tellDatabase(tracing, span, call)
    }
    if (!travels(tracing, span.spanContext())) return isRecording ? { span, creates: [] } : undefined
    const context = trace.setSpan(active, span)
    const creates = createSpans ? creations.map((creation) => create(topic, creation, context)) : []
    call.args[1] = createSpans
      ? creations.map((creation, index) => {
          const created = creates[index]
          return created ? withContext([creation], trace.setSpan(context, created), propagator)[0] : creation
        })
      : withContext(creations, context, propagator)
    return { span, creates }
  }
}

/** Whether a context is written into headers: of what is not sampled, nobody would see more. */
function travels({ inject }: Tracing, found: SpanContext | undefined): boolean {
  return found !== undefined && (inject === 'always' || (found.traceFlags & TraceFlags.SAMPLED) !== 0)
}

function end({ span, creates }: Pushing, call: RepositoryCall): void {
  if ('error' in call) failBy(span, call.error)
  const pushed = (call.result ?? []) as readonly PushedTask[]
  const [alone] = pushed.length === 1 ? pushed : []
  if (alone) span.setAttribute(messaging.messageId, idOf(alone))
  creates.forEach((created, index) => {
    const task = pushed.length === creates.length ? pushed[index] : undefined
    if (task) created?.setAttribute(messaging.messageId, idOf(task))
    created?.end()
  })
  span.end()
}

export function idOf({ topic, sequence }: Pick<PushedTask, 'topic' | 'sequence'>): string {
  return `${topic}@${sequence}`
}
