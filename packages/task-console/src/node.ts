/** Mounts the console in servers of Node.js: node:http, Express, Fastify, Koa, Nest. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { TaskConsole } from './console.ts'

/** A request of which the server in front may have taken the base path away, and may have read the body. */
type Handed = IncomingMessage & { originalUrl?: string; body?: unknown; rawBody?: unknown }

/**
 * Makes a listener of requests, which is also a middleware.
 *
 * @example
 * app.use('/ops/tasks', requireStaff, toNode(console))   // Express
 */
export function toNode(console: TaskConsole): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  const listener = getRequestListener((request, environment) => console.fetch(whole(request), environment), {
    overrideGlobalObjects: false,
  })
  return (incoming, outgoing) => {
    const handed = incoming as Handed
    if (handed.originalUrl !== undefined) handed.url = handed.originalUrl
    if (handed.body !== undefined && handed.rawBody === undefined) handed.rawBody = bodyOf(handed)
    return listener(incoming, outgoing) as Promise<void>
  }
}

/** Methods whose requests have no body, or cannot be made. */
const bodiless = new Set(['GET', 'HEAD', 'TRACE', 'CONNECT'])

/**
 * The listener's requests are objects that only look like one. What measures a body of unknown length makes a request of the request, which needs a true one.
 */
function whole(request: Request): Request {
  const { headers, method, signal } = request
  const isMeasured = headers.has('content-length') && !headers.has('transfer-encoding')
  if (isMeasured || bodiless.has(method)) return request
  // The types of browsers do not know `duplex`.
  return new Request(request.url, { method, headers, signal, body: request.body, duplex: 'half' } as RequestInit)
}

/** Writes a body again that a parser has read. */
function bodyOf({ body, headers }: Handed): Buffer {
  if (Buffer.isBuffer(body)) return body
  if (typeof body === 'string') return Buffer.from(body)
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded')
  return Buffer.from(isForm ? new URLSearchParams(body as Record<string, string>).toString() : JSON.stringify(body ?? null))
}
