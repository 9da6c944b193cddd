/** Spans of pushes, and the context that they give to tasks. */
import { taskChannels, submitChannel } from '@taskstream/task-api'
import type { PushedTask, PushOptions, RepositoryCall, SubmitCall } from '@taskstream/task-api'
import { context as contexts, SpanKind, trace, TraceFlags } from '@opentelemetry/api'
import type { Context, Span } from '@opentelemetry/api'
import { messaging, own } from '../core/conventions.ts'
import { hear, hearCalls } from '../core/hearing.ts'
import type { Unsubscribe } from '../core/hearing.ts'
import { bringsContext, linksOf, withContext } from './carrier.ts'
import type { Creation } from './carrier.ts'
import { attributesOf, failBy } from './tracing.ts'
import type { Tracing } from './tracing.ts'

/** A push, with the spans of its creations where each has one. */
interface Pushing {
  readonly span: Span
  readonly creates: readonly (Span | undefined)[]
}

export function hearPushes(tracing: Tracing): readonly Unsubscribe[] {
  const pushes = new WeakMap<RepositoryCall, Pushing>()
  return [
    hearCalls<RepositoryCall>(taskChannels.push, {
      started: (call) => {
        if (call.topic !== undefined) pushes.set(call, begin(tracing, call, call.topic))
      },
      ended: (call) => {
        const pushing = pushes.get(call)
        if (pushing) end(pushing, call)
      },
    }),
    hear<SubmitCall>(submitChannel, (call) => {
      const active = contexts.active()
      if (travels(tracing, active)) call.creations = withContext(call.creations, active, tracing.propagator)
    }),
  ]
}

function begin(tracing: Tracing, call: RepositoryCall, topic: string): Pushing {
  const { tracer, propagator, createSpans } = tracing
  const [, given, options] = call.args as [string, Creation | readonly Creation[], PushOptions | undefined]
  const creations: readonly Creation[] = Array.isArray(given) ? given : [given]
  const isCreator = !createSpans && creations.some((creation) => !bringsContext(creation, propagator))
  const active = contexts.active()
  const span = tracer.startSpan(
    `push ${topic}`,
    { kind: isCreator ? SpanKind.PRODUCER : SpanKind.CLIENT, attributes: attributesOf(tracing, 'push', 'push', topic) },
    active,
  )
  const context = trace.setSpan(active, span)
  if (span.isRecording()) {
    if (creations.length > 1) span.setAttribute(messaging.batchCount, creations.length)
    if (options?.insertion !== undefined) span.setAttribute(own.insertion, options.insertion)
    span.addLinks(linksOf(creations, propagator))
  }
  if (!travels(tracing, context)) return { span, creates: [] }
  const creates = createSpans ? creations.map((creation) => create(tracing, topic, creation, context)) : []
  call.args[1] = createSpans
    ? creations.map((creation, index) => {
        const created = creates[index]
        return created ? withContext([creation], trace.setSpan(context, created), propagator)[0] : creation
      })
    : withContext(creations, context, propagator)
  return { span, creates }
}

/** A span for one task, which ends when its push does. */
function create(tracing: Tracing, topic: string, creation: Creation, context: Context): Span | undefined {
  if (bringsContext(creation, tracing.propagator)) return undefined
  const attributes = attributesOf(tracing, 'create', 'create', topic)
  return tracing.tracer.startSpan(`create ${topic}`, { kind: SpanKind.PRODUCER, attributes }, context)
}

/** Whether a context is written into headers: of what is not sampled, nobody would see more. */
function travels({ inject }: Tracing, context: Context): boolean {
  const found = trace.getSpanContext(context)
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
