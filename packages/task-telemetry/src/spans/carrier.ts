/** Trace contexts in the headers of tasks. */
import { ROOT_CONTEXT, trace } from '@opentelemetry/api'
import type { Context, Link, SpanContext, TextMapGetter, TextMapPropagator } from '@opentelemetry/api'
import { taskLimits } from '@taskstream/task-api'
import type { HeldTask, TaskCreation, TaskHeaders } from '@taskstream/task-api'

/** How many links a span has at most. */
const mostLinks = 128

const getter: TextMapGetter<TaskHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, key) => {
    const value = Object.hasOwn(headers, key) ? headers[key] : undefined
    return typeof value === 'string' ? value : undefined
  },
}

const setter = {
  set: (carrier: Record<string, string>, key: string, value: string): void => void (carrier[key] = value),
}

export type Creation = string | TaskCreation

/** Whether a creation brings a context along. It is kept as it is. */
export function bringsContext(creation: Creation, propagator: TextMapPropagator): boolean {
  const headers = headersOf(creation)
  return headers !== undefined && propagator.fields().some((field) => Object.hasOwn(headers, field))
}

/** The same creations with the context in the headers of those that bring none along. */
export function withContext(
  creations: readonly Creation[],
  context: Context,
  propagator: TextMapPropagator,
): readonly Creation[] {
  const carrier: Record<string, string> = {}
  propagator.inject(context, carrier, setter)
  if (Object.keys(carrier).length === 0) return creations
  return [...creations].map((creation) => (bringsContext(creation, propagator) ? creation : withHeaders(creation, carrier)))
}

/** The context that a task or a creation brings along. */
export function spanContextOf(headers: TaskHeaders | undefined, propagator: TextMapPropagator): SpanContext | undefined {
  if (!headers) return undefined
  const found = trace.getSpanContext(propagator.extract(ROOT_CONTEXT, headers, getter))
  return found && trace.isSpanContextValid(found) ? found : undefined
}

/** Links to the contexts of tasks or creations, each of them once. */
export function linksOf(
  items: readonly (Creation | HeldTask)[],
  propagator: TextMapPropagator,
  attributes?: (item: Creation | HeldTask) => NonNullable<Link['attributes']>,
): Link[] {
  const links = new Map<string, Link>()
  for (const item of items) {
    const context = spanContextOf(headersOf(item), propagator)
    if (!context) continue
    // Of several tasks of one push each has a link of its own if the link says which task it is of.
    const key = attributes ? String(links.size) : context.spanId
    if (!links.has(key)) links.set(key, attributes ? { context, attributes: attributes(item) } : { context })
    if (links.size >= mostLinks) break
  }
  return [...links.values()]
}

/** What is no creation at all, the push itself refuses. */
function headersOf(item: Creation | HeldTask): TaskHeaders | undefined {
  const headers: unknown = typeof item === 'object' && item !== null ? item.headers : undefined
  return typeof headers === 'object' && headers !== null && !Array.isArray(headers) ? (headers as TaskHeaders) : undefined
}

function withHeaders(creation: Creation, carrier: Readonly<Record<string, string>>): Creation {
  if (typeof creation === 'string') return { identifier: creation, headers: carrier }
  const isOther = typeof creation !== 'object' || creation === null
  if (isOther || (creation.headers !== undefined && headersOf(creation) === undefined)) return creation
  // Creations share one object then, which the push writes once.
  if (creation.headers === undefined) return { ...creation, headers: carrier }
  const headers = { ...carrier, ...creation.headers }
  return isShort(headers) ? { ...creation, headers } : creation
}

/** A push must not be refused because of what was added to it. */
function isShort(headers: TaskHeaders): boolean {
  try {
    return JSON.stringify(headers).length <= taskLimits.headersLength
  } catch {
    return false
  }
}
