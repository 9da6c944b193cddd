/** One line of the table of routes: what may be asked, who may ask it, and what is answered. */
import { invalid, nearest, TaskError } from '@taskstream/task-api'
import * as z from 'zod'
import type { Role } from '../core/access.ts'
import type { Context } from '../core/context.ts'
import type { Overview } from './overview.ts'

export type Asked = Context<Overview>

/** Whatever is not got writes. */
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface Route {
  readonly method: Method
  /** The path below `/api/v1`. Parts that begin with a colon are parameters. */
  readonly path: string
  /** The least role that may ask. */
  readonly role: Role
  readonly summary: string
  /** The parameters of the path and of the query. */
  readonly parameters: z.ZodObject
  /** The body; a route without one takes none. */
  readonly body?: z.ZodObject
  readonly answer: z.ZodType
  /** @throws TaskError, Problem */
  handle(asked: Asked, given: Given, body: unknown): Promise<unknown>
}

/** What a request gives for the parameters: those of a path once, those of a query any number of times. */
export type Given = Readonly<Record<string, readonly string[]>>

/** Checks the parameters and the body before a route that writes handles them. Their types come from the schemas. */
export function writeRoute<Parameters extends z.ZodObject, Body extends z.ZodObject>({
  handle,
  ...route
}: Omit<Route, 'handle' | 'parameters' | 'body'> & {
  readonly parameters: Parameters
  readonly body: Body
  readonly handle: (asked: Asked, parameters: z.output<Parameters>, body: z.output<Body>) => Promise<unknown>
}): Route {
  return { ...route, handle: (asked, given, body) => handle(asked, read(route.parameters, given), parse(route.body, body)) }
}

/** Checks the parameters before a route handles them. Their type comes from the schema. */
export function route<Parameters extends z.ZodObject>({
  handle,
  ...route
}: Omit<Route, 'handle' | 'method' | 'parameters'> & {
  readonly parameters: Parameters
  readonly handle: (asked: Asked, parameters: z.output<Parameters>) => Promise<unknown>
}): Route {
  return { ...route, method: 'GET', handle: (asked, given) => handle(asked, read(route.parameters, given)) }
}

/**
 * Reads parameters. An empty text of a query counts as absent: a form sends its empty fields.
 *
 * @throws TaskError ARGUMENT_INVALID, naming the parameter that is unknown or out of range
 */
export function read<Parameters extends z.ZodObject>(parameters: Parameters, given: Given): z.output<Parameters> {
  const { shape } = parameters
  const values: Record<string, unknown> = {}
  for (const [name, texts] of Object.entries(given)) {
    const filled = texts.filter((text) => text !== '')
    if (!Object.hasOwn(shape, name)) {
      const suggestion = nearest(name, Object.keys(shape))
      throw new TaskError(
        'ARGUMENT_INVALID',
        `There is no parameter ${JSON.stringify(name.slice(0, 60))}${suggestion === undefined ? '' : `: did you mean ${suggestion}?`}`,
        { argument: name.slice(0, 60), ...(suggestion !== undefined && { suggestion }) },
      )
    }
    if (filled.length > 0) values[name] = isList(shape[name]) ? filled : filled.at(-1)
  }
  return parse(parameters, values, 1)
}

/**
 * @param depth how many parts the name of a value has at most
 * @throws TaskError ARGUMENT_INVALID, naming what is wrong
 */
function parse<Schema extends z.ZodObject>(schema: Schema, given: unknown, depth?: number): z.output<Schema> {
  const result = schema.safeParse(given)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const names = issue?.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]] : (issue?.path.slice(0, depth) ?? [])
  const value = names.reduce<unknown>((of, name) => (of as Record<string, unknown> | undefined)?.[String(name)], given)
  throw invalid(names.join('.') || 'body', value, `is refused (${issue?.message ?? 'it is invalid'})`)
}

function isList(schema: unknown): boolean {
  return schema instanceof z.ZodArray || (schema instanceof z.ZodOptional && isList(schema.unwrap()))
}
