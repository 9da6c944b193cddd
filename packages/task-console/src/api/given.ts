/** Reads what a request brings along: values of its path and query, a body, or the fields of a form. */
import type { Context } from 'hono'
import { nameOf } from '../core/path.ts'
import { Problem } from '../core/problem.ts'
import type { Given } from './route.ts'

/** @throws Problem ARGUMENT_INVALID unless the body is JSON. A form of another page cannot say that it is. */
export async function bodyOf(c: Context): Promise<unknown> {
  const refuse = (why: string): Problem => new Problem('ARGUMENT_INVALID', 400, why, { argument: 'body' })
  if (!/^application\/json\s*(;|$)/i.test(c.req.header('content-type') ?? ''))
    throw refuse('The body must be JSON, with content-type: application/json.')
  const text = await c.req.text()
  try {
    const body: unknown = JSON.parse(text)
    const key = c.req.header('idempotency-key')
    return key === undefined ? body : keyed(body, key)
  } catch (error) {
    throw error instanceof SyntaxError ? refuse('The body is no JSON.') : error
  }
}

/** The texts of a form. Nothing here takes a file. */
export async function formOf(c: Context): Promise<Given> {
  const fields = await c.req.parseBody({ all: true })
  const texts = Object.entries(fields).map(([name, value]) => [name, [value].flat().filter((each) => typeof each === 'string')])
  return Object.fromEntries(texts) as Given
}

/** The key of a push of one task is its external id: pushed again, nothing new is created. */
function keyed(body: unknown, key: string): unknown {
  const { tasks } = (body ?? {}) as { readonly tasks?: unknown }
  if (!Array.isArray(tasks) || tasks.length !== 1) return body
  return { ...(body as object), tasks: [{ externalId: key, ...(tasks[0] as object) }] }
}

/** The values of the path and of the query. A value of the path goes before one of the query. */
export function givenOf(c: Context): Given {
  const ofPath = Object.entries(c.req.param()).map(([name, value]) => [name, [nameOf(value as string)]] as const)
  return { ...c.req.queries(), ...Object.fromEntries(ofPath) }
}
