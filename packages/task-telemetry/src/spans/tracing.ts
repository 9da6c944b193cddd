/** What all spans are made with. */
import { context as contexts, SpanStatusCode } from '@opentelemetry/api'
import type { Attributes, Context, Span, TextMapPropagator, Tracer } from '@opentelemetry/api'
import { errorType, messaging, operationTypes } from '../core/conventions.ts'
import { errorTypeOf } from '../core/error-type.ts'

export interface Tracing {
  readonly tracer: Tracer
  readonly propagator: TextMapPropagator
  readonly system: Attributes
  readonly inject: 'sampled' | 'always'
  readonly relation: 'child' | 'link'
  readonly identifiers: boolean
  readonly createSpans: boolean
  readonly receiveSpans: boolean
}

/** An exception's stack in an event, in characters. */
const stackLength = 4_096

/** The attributes of an operation on a topic. */
export function attributesOf(
  { system }: Pick<Tracing, 'system'>,
  operation: string,
  type: keyof typeof operationTypes,
  topic: string,
): Attributes {
  return {
    ...system,
    [messaging.operationName]: operation,
    [messaging.operationType]: operationTypes[type],
    [messaging.destination]: topic,
  }
}

/** Marks a span as failed, by an error or by a type alone. */
export function fail(span: Span, type: string, error?: unknown): void {
  span.setAttribute(errorType, type)
  span.setStatus({ code: SpanStatusCode.ERROR, ...(error instanceof Error && { message: cut(error.message, 1_024) }) })
  if (!(error instanceof Error)) return
  const { name, message, stack } = error
  span.recordException({ name, message: cut(message, 1_024), ...(stack !== undefined && { stack: cut(stack, stackLength) }) })
}

export function failBy(span: Span, error: unknown): void {
  fail(span, errorTypeOf(error), error)
}

/** Runs work in a context. */
export function within(context: Context): <Result>(work: () => Result) => Result {
  return (work) => contexts.with(context, work)
}

function cut(text: string, length: number): string {
  return typeof text === 'string' && text.length > length ? `${text.slice(0, length - 3)}...` : text
}
