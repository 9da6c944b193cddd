/** Spans around handlers and steps, and of what completes their tasks. */
import { taskChannels } from '@taskstream/task-api'
import type {
  CompleteOptions,
  Completion,
  HandlerCall,
  HeldTask,
  RepositoryCall,
  StepCall,
  TaskDecision,
} from '@taskstream/task-api'
import { context as contexts, INVALID_TRACEID, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import type { Attributes, Context, Span } from '@opentelemetry/api'
import { messaging, outcomeCount, own } from '../core/conventions.ts'
import { errorOf, failureType, outcomeOf } from '../core/error-type.ts'
import { Beside, hear, hearCalls } from '../core/hearing.ts'
import type { Unsubscribe } from '../core/hearing.ts'
import { linksOf, spanContextOf } from './carrier.ts'
import { Handled } from './handled.ts'
import { idOf } from './push-spans.ts'
import { beginnings, fail, failBy, tellDatabase, within } from './tracing.ts'
import type { Beginning, Tracing } from './tracing.ts'

type Decisions = ReadonlyMap<HeldTask, TaskDecision>

interface BatchEvent {
  readonly topic: string
  readonly tasks: readonly HeldTask[]
}

/** How many handlers may have ended whose tasks nobody has told of. A process that is ending leaves some. */
const mostOpen = 1_000

export class ProcessSpans {
  readonly #tracing: Tracing
  /** What is sampled and has not ended, the oldest first. */
  readonly #open = new Set<Handled>()
  readonly #handled = new WeakMap<HeldTask, Handled>()
  /** One task of each batch whose span is not sampled, though a span that is surrounds it. */
  readonly #unsampled = new WeakSet<HeldTask>()
  readonly #calls = new Beside<HandlerCall, Handled>()
  readonly #spans = new Beside<object, Span>()
  readonly #process: (topic: string) => Beginning
  readonly #complete: (topic: string) => Beginning

  constructor(tracing: Tracing) {
    this.#tracing = tracing
    this.#process = beginnings(tracing, 'process', { kind: SpanKind.CONSUMER })
    this.#complete = beginnings(tracing, 'complete', { kind: SpanKind.CLIENT })
  }

  hear(): readonly Unsubscribe[] {
    return [
      hearCalls<HandlerCall>(taskChannels.handle, {
        started: (call) => this.#begin(call),
        ended: (call) => this.#calls.get(call)?.returned(call),
      }),
      hearCalls<StepCall>(taskChannels.step, { started: (call) => this.#beginStep(call), ended: (call) => this.#endStep(call) }),
      hearCalls<RepositoryCall>(taskChannels.complete, {
        started: (call) => this.#beginComplete(call),
        ended: (call) => this.#endComplete(call),
      }),
      hear<BatchEvent & { readonly completion: Completion; readonly decisions: Decisions }>(
        'taskstream:onComplete',
        ({ completion, decisions }) =>
          this.#each(completion.completed, (handled) => handled.decided(completion.completed, decisions)),
      ),
      hear<BatchEvent>('taskstream:onLost', ({ tasks }) => this.#each(tasks, (handled) => handled.lost(tasks))),
      hear<BatchEvent>('taskstream:onReturned', ({ tasks }) => this.#each(tasks, (handled) => handled.handedBack(tasks))),
      hear<BatchEvent & { readonly at?: HeldTask }>('taskstream:onStuck', ({ tasks, at }) => {
        // Of one task that `eachTask` gives up, its handler's decision tells.
        if (!at || tasks.length === 1) this.#each(tasks, (handled) => handled.stuck())
      }),
      hear<Partial<BatchEvent> & { readonly activity: string; readonly error: unknown; readonly decisions?: Decisions }>(
        'taskstream:onError',
        ({ tasks = [], activity, error, decisions }) => {
          // With decisions, a completion follows.
          if (decisions) return
          this.#each(tasks, (handled) =>
            activity === 'complete' ? handled.unwritten(tasks, error) : handled.handedBack(tasks, error),
          )
        },
      ),
      () => [...this.#open].forEach((handled) => handled.end()),
    ]
  }

  #begin(call: HandlerCall): void {
    const tracing = this.#tracing
    const { topic, tasks } = call
    const alone = tasks.length === 1 ? tasks[0] : undefined
    const origin = alone && spanContextOf(alone.headers, tracing.propagator)
    const isChild = origin !== undefined && alone?.attempt === 1 && tracing.relation === 'child'
    const parent = isChild ? trace.setSpanContext(ROOT_CONTEXT, origin) : ROOT_CONTEXT
    const { name, options } = this.#process(topic)
    const span = tracing.tracer.startSpan(name, options, parent)
    const spanContext = span.spanContext()
    // Without a provider there is no span.
    if (spanContext.traceId === INVALID_TRACEID) return
    // What the caller has put into the context beside a span, such as baggage, stays there. A span that is not sampled is in the context, too, as
    // spans that the handler makes would otherwise be sampled by themselves.
    const surrounding = contexts.active()
    const context = trace.setSpan(surrounding, span)
    call.within = within(context)
    call.span = spanContext
    if (!span.isRecording()) {
      if (tasks[0] && trace.getSpan(surrounding)?.isRecording()) this.#unsampled.add(tasks[0])
      return
    }
    this.#describe(span, tasks)
    const handled = new Handled(context, span, tasks, () => this.#open.delete(handled))
    this.#calls.set(call, handled)
    for (const task of tasks) this.#handled.set(task, handled)
    this.#open.add(handled)
    if (this.#open.size > mostOpen) this.#open.values().next().value?.end()
  }

  #describe(span: Span, tasks: readonly HeldTask[]): void {
    const { propagator, identifiers } = this.#tracing
    const [alone] = tasks.length === 1 ? tasks : []
    const describe = (task: HeldTask): Attributes => ({
      [messaging.messageId]: idOf(task),
      [own.attempt]: task.attempt,
      [own.tries]: task.tries,
      ...(identifiers && { [own.identifier]: task.identifier }),
    })
    if (alone) span.setAttributes(describe(alone))
    else span.setAttribute(messaging.batchCount, tasks.length)
    span.addLinks(linksOf(tasks, propagator, alone ? undefined : (task) => describe(task as HeldTask)))
  }

  #beginStep(call: StepCall): void {
    const active = contexts.active()
    const span = this.#stepSpan(call, active)
    if (!span) return
    this.#spans.set(call, span)
    call.within = within(trace.setSpan(active, span))
  }

  #stepSpan({ topic, step, tasks }: StepCall, active: Context): Span | undefined {
    // A composite that buffers runs the tasks of several handlers at once, in the context of none.
    const parent = trace.getSpan(active) ? active : tasks[0] && this.#handled.get(tasks[0])?.context
    if (!parent || !trace.getSpan(parent)?.isRecording()) return undefined
    const attributes = { ...this.#tracing.system, [messaging.destination]: topic, [own.step]: step }
    return this.#tracing.tracer.startSpan(`step ${step}`, { kind: SpanKind.INTERNAL, attributes }, parent)
  }

  #endStep(call: StepCall): void {
    const span = this.#spans.get(call)
    if (!span) return
    if ('error' in call) failBy(span, call.error)
    else
      for (const [task, decision] of call.result ?? []) {
        if (outcomeOf(task, decision) !== 'failure') continue
        fail(span, failureType(decision), errorOf(decision))
        break
      }
    span.end()
  }

  #beginComplete(call: RepositoryCall): void {
    const [topic, decisions] = call.args as [string, Decisions]
    if (!(decisions instanceof Map)) return
    this.#noteTraces(call, decisions)
    const [first] = decisions.keys() as Iterable<HeldTask>
    const handled = first && this.#handled.get(first)
    const parent = handled?.context ?? contexts.active()
    if (!first || (!handled && (!trace.getSpan(parent)?.isRecording() || this.#unsampled.has(first)))) return
    const { name, options } = this.#complete(topic)
    const span = this.#tracing.tracer.startSpan(name, options, parent)
    if (decisions.size > 1) span.setAttribute(messaging.batchCount, decisions.size)
    else span.setAttribute(messaging.messageId, idOf(first))
    tellDatabase(this.#tracing, span, call)
    // Batches that end together are completed together.
    const others = new Set([...(decisions.keys() as Iterable<HeldTask>)].flatMap((task) => this.#handled.get(task) ?? []))
    for (const other of [...others].slice(0, 128)) if (other !== handled) span.addLink({ context: other.span.spanContext() })
    this.#spans.set(call, span)
  }

  /** Attempts that did not succeed keep the traces that show them, so that somebody who looks at a task finds them. */
  #noteTraces(call: RepositoryCall, decisions: Decisions): void {
    if (this.#open.size === 0) return
    const options = call.args[2] as CompleteOptions | undefined
    const traces = new Map(options?.traces)
    for (const [task, decision] of decisions) {
      const handled = decision.isRecorded ? this.#handled.get(task) : undefined
      if (handled && !traces.has(task)) traces.set(task, handled.span.spanContext().traceId)
    }
    if (traces.size > 0) call.args[2] = { ...options, traces }
  }

  #endComplete(call: RepositoryCall): void {
    const span = this.#spans.get(call)
    if (!span) return
    if ('error' in call) failBy(span, call.error)
    else {
      const { completed, lost } = call.result as Completion
      const decisions = call.args[1] as Decisions
      const counts = new Map<string, number>(lost.length > 0 ? [['lost', lost.length]] : [])
      for (const task of completed) {
        const decision = decisions.get(task)
        const outcome = decision ? outcomeOf(task, decision) : 'success'
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
      }
      for (const [outcome, count] of counts) span.setAttribute(outcomeCount(outcome), count)
    }
    span.end()
  }

  #each(tasks: readonly HeldTask[], tell: (handled: Handled) => void): void {
    if (this.#open.size === 0) return
    const found = new Set<Handled>()
    for (const task of tasks) {
      const handled = this.#handled.get(task)
      if (handled) found.add(handled)
    }
    for (const handled of found) tell(handled)
  }
}
