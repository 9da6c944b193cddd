/** The document of the API, from the table of routes. */
import * as z from 'zod'
import { named, problemSchema } from './schemas.ts'
import type { Route } from './route.ts'

type Json = Readonly<Record<string, unknown>>

const problems: Readonly<Record<string, string>> = {
  '400': 'A parameter is unknown or out of range: `data.argument` names it.',
  '403': 'The role does not suffice, or nobody has said who may ask.',
  '404': 'There is no such thing, or you may not see it.',
  '405': 'The console is read-only.',
  '409': 'The thing is not in a state for that.',
  '500': 'The console has failed.',
  '503': 'The database cannot answer now.',
}

/** Makes the document, OpenAPI 3.1. */
export function documentOf(routes: readonly Route[]): Json {
  const { schemas } = z.toJSONSchema(named, { uri: (id) => `#/components/schemas/${id}`, io: 'output' })
  const paths: Record<string, Json> = {}
  for (const each of routes) {
    const path = `/api/v1${each.path.replaceAll(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [each.method.toLowerCase()]: operationOf(each) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'taskstream',
      version: '1',
      description:
        'What operators ask. Instants are ISO 8601 in UTC, durations are in milliseconds. Within version 1 things are only added.',
    },
    paths,
    components: { schemas: Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, plain(schema)])) },
  }
}

function operationOf({ method, path, role, summary, parameters, body, answer }: Route): Json {
  const { properties = {}, required = [] } = z.toJSONSchema(parameters, { io: 'input' }) as {
    readonly properties?: Readonly<Record<string, Json>>
    readonly required?: readonly string[]
  }
  const failed = { 'application/problem+json': { schema: refTo(problemSchema) } }
  return {
    operationId: [method.toLowerCase(), ...path.split('/').filter(Boolean)].map((part) => part.replace(':', 'by-')).join('-'),
    summary,
    description: `Needs the role ${role}.`,
    'x-role': role,
    parameters: Object.entries(properties).map(([name, { description, ...schema }]) => {
      const isInPath = path.includes(`:${name}`)
      return {
        name,
        in: isInPath ? 'path' : 'query',
        required: isInPath || required.includes(name),
        ...(description !== undefined && { description }),
        schema,
      }
    }),
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: plain(z.toJSONSchema(body, { io: 'input' })) } },
      },
    }),
    responses: {
      '200': { description: summary, content: { 'application/json': { schema: refTo(answer) } } },
      ...Object.fromEntries(Object.entries(problems).map(([status, description]) => [status, { description, content: failed }])),
    },
  }
}

/** The schema of an answer, in which those that have a name are referred to. */
function refTo(schema: z.ZodType): Json {
  const id = named.get(schema)?.id
  if (id !== undefined) return { $ref: `#/components/schemas/${id}` }
  const { $defs: _, ...written } = z.toJSONSchema(schema, { metadata: named, reused: 'inline' }) as Json
  return plain(written)
}

/** Without what zod adds for its own resolution: the references stay. */
function plain(schema: unknown): Json {
  return JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === '$schema' || key === '$id' || (key === 'id' && typeof value === 'string')
        ? undefined
        : typeof value === 'string' && key === '$ref'
          ? value.replace('#/$defs/', '#/components/schemas/')
          : value,
    ),
  ) as Json
}
