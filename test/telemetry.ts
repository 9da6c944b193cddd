/** Telemetry that is kept in memory, for tests. */
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { ReadableSpan, Sampler } from '@opentelemetry/sdk-trace-base'
import { instrumentTaskstream } from '@taskstream/task-telemetry'
import type { InstrumentOptions } from '@taskstream/task-telemetry'

export interface Traced extends Disposable {
  readonly provider: BasicTracerProvider
  /** The spans of a topic that have ended, in the order of their ends. */
  spans(topic: string): ReadableSpan[]
  all(): ReadableSpan[]
}

/** Instruments this process until the returned value is disposed of. */
export function traced(options: InstrumentOptions<unknown> = {}, sampler?: Sampler): Traced {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)], ...(sampler && { sampler }) })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const instrumented = instrumentTaskstream({ tracerProvider: provider, propagator: new W3CTraceContextPropagator(), ...options })
  return {
    provider,
    spans: (topic) =>
      exporter
        .getFinishedSpans()
        .filter(({ name, attributes }) => name.endsWith(` ${topic}`) || attributes['messaging.destination.name'] === topic),
    all: () => exporter.getFinishedSpans(),
    [Symbol.dispose]() {
      instrumented[Symbol.dispose]()
      context.disable()
    },
  }
}
