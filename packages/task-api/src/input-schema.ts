import { invalid } from './task-limits.ts'
import { TaskError } from './task-error.ts'

/**
 * A schema that checks an input, by https://standardschema.dev. zod, valibot, arktype and others make such schemas. `Given` is what the schema
 * accepts, and `Input` is what it makes of that.
 */
export interface InputSchema<Input, Given = unknown> {
  readonly '~standard': {
    readonly validate: (value: unknown) => SchemaResult<Input> | Promise<SchemaResult<Input>>
    readonly types?: { readonly input: Given; readonly output: Input } | undefined
  }
}

type SchemaResult<Input> = { readonly value: Input; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }

interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** What a schema checks: what a task is given, or what it returns. */
export type Payload = 'input' | 'output'

const codes = { input: 'INPUT_INVALID', output: 'OUTPUT_INVALID' } as const

/**
 * Checks a value by a schema.
 *
 * @param name the kind of task, for messages
 * @throws TaskError INPUT_INVALID or OUTPUT_INVALID; ARGUMENT_INVALID if the schema checks asynchronously, or if a transformation of zod throws
 */
export function checkInput<Input>(schema: InputSchema<Input>, name: string, value: unknown, what: Payload = 'input'): Input {
  const result = schema['~standard'].validate(value)
  if (result instanceof Promise) {
    // zod answers with a promise that rejects where a transformation throws. Nobody else would take notice of it, and the process would end.
    result.catch(() => {})
    throw invalid(what, name, 'must have a schema that checks at once, without awaiting anything, and whose code does not throw')
  }
  if (result.issues === undefined) return result.value
  const issues = result.issues.map(({ message, path = [] }) => {
    const at = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    return at === '' ? message : `${at}: ${message}`
  })
  throw new TaskError(codes[what], `The ${what} of a task "${name}" is not as its schema says: ${issues.join('; ')}`, {
    name,
    issues,
  })
}

/**
 * Reads an input from JSON and checks it.
 *
 * @throws TaskError as `checkInput`, also if the text is no JSON
 */
export function readInput<Input>(
  schema: InputSchema<Input>,
  name: string,
  text: string | undefined,
  what: Payload = 'input',
): Input {
  let value: unknown
  try {
    value = JSON.parse(text ?? '')
  } catch (cause) {
    throw new TaskError(codes[what], `The ${what} of a task "${name}" is no JSON`, { name, [what]: text }, { cause })
  }
  return checkInput(schema, name, value, what)
}

/**
 * Makes JSON of an input.
 *
 * @throws TaskError ARGUMENT_INVALID if JSON cannot express the input: it has a bigint or a cycle, say, or it is a function
 */
export function jsonOf(name: string, input: unknown, what: Payload = 'input'): string {
  let text: string | undefined
  try {
    text = JSON.stringify(input)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new TaskError('ARGUMENT_INVALID', `The ${what} of a task "${name}" must be JSON: ${why}`, { name }, { cause })
  }
  // Of undefined or a function JSON makes nothing, which would be stored as no input.
  if (text === undefined) throw invalid(what, input, `of a task "${name}" must be JSON`)
  return text
}
