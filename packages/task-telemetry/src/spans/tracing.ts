/** What all spans are made with. */
import type { RepositoryCall } from '@taskstream/task-api'
import { context as contexts, SpanStatusCode } from '@opentelemetry/api'
import type { Attributes, Context, Span, SpanOptions, TextMapPropagator, Tracer } from '@opentelemetry/api'
import { database, errorType, messaging, operationTypes } from '../core/conventions.ts'
import { errorTypeOf } from '../core/error-type.ts'

export interface Tracing {
  readonly tracer: Tracer
  readonly propagator: TextMapPropagator
  /** What all spans say: of which system they are, and where the database is, if an option says so. */
  readonly system: Attributes
  readonly inject: 'sampled' | 'always'
  readonly relation: 'child' | 'link'
  readonly identifiers: boolean
  readonly createSpans: boolean
  readonly receiveSpans: boolean
}

/** An exception's stack in an event, in characters. */
const stackLength = 4_096

/** A span's name, and the options that it begins with. */
export interface Beginning {
  readonly name: string
  readonly options: Readonly<SpanOptions>
}

/** For how many topics beginnings are kept. */
const mostTopics = 1_000

/** How spans of an operation begin. That is made once for each topic, as most spans are not sampled and need nothing else. */
export function beginnings(
  { system }: Pick<Tracing, 'system'>,
  operation: keyof typeof operationTypes,
  options: SpanOptions,
): (topic: string) => Beginning {
  const made = new Map<string, Beginning>()
  return (topic) => {
    const known = made.get(topic)
    if (known) return known
    const attributes = {
      ...system,
      [messaging.operationName]: operation,
      [messaging.operationType]: operationTypes[operation],
      [messaging.destination]: topic,
    }
    const beginning = { name: `${operation} ${topic}`, options: { ...options, attributes } }
    if (made.size >= mostTopics) made.clear()
    made.set(topic, beginning)
    return beginning
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

/** Says of a span that is recorded in which database its call was, unless an option has said it of all spans. */
export function tellDatabase({ system }: Pick<Tracing, 'system'>, span: Span, call: RepositoryCall): void {
  if (call.system !== undefined && !(database.system in system)) span.setAttribute(database.system, call.system)
  const server = database.address in system ? undefined : call.server?.()
  if (!server) return
  span.setAttribute(database.address, server.address)
  if (server.port !== undefined) span.setAttribute(database.port, server.port)
}

/** Runs work in a context. */
export function within(context: Context): <Result>(work: () => Result) => Result {
  return (work) => contexts.with(context, work)
}

function cut(text: string, length: number): string {
  return typeof text === 'string' && text.length > length ? `${text.slice(0, length - 3)}...` : text
}
