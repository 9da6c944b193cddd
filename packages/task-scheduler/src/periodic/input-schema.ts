import { invalid, TaskError } from '@taskstream/task-api'

/** A schema that checks an input, by https://standardschema.dev. zod, valibot, arktype and others make such schemas. */
export interface InputSchema<Input> {
  readonly '~standard': {
    readonly validate: (value: unknown) => SchemaResult<Input> | Promise<SchemaResult<Input>>
  }
}

type SchemaResult<Input> = { readonly value: Input; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }

interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Checks an input and makes JSON of it. @throws TaskError INPUT_INVALID, ARGUMENT_INVALID */
export function toText<Input>(schema: InputSchema<Input>, name: string, input: unknown): string {
  const text = JSON.stringify(check(schema, name, input))
  // Of undefined or a function JSON makes nothing, which would be stored as no input.
  if (text === undefined) throw invalid('input', input, 'must be JSON')
  return text
}

/** Reads an input from JSON and checks it. @throws TaskError INPUT_INVALID */
export function fromText<Input>(schema: InputSchema<Input>, name: string, text: string | undefined): Input {
  let value: unknown
  try {
    value = JSON.parse(text ?? '')
  } catch (cause) {
    throw new TaskError('INPUT_INVALID', `The input of a task "${name}" is no JSON`, { name, input: text }, { cause })
  }
  return check(schema, name, value)
}

function check<Input>(schema: InputSchema<Input>, name: string, value: unknown): Input {
  const result = schema['~standard'].validate(value)
  if (result instanceof Promise) throw invalid('input', name, 'must have a schema that checks at once, without awaiting anything')
  if (result.issues === undefined) return result.value
  const issues = result.issues.map(({ message, path = [] }) => {
    const at = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    return at === '' ? message : `${at}: ${message}`
  })
  throw new TaskError('INPUT_INVALID', `The input of a task "${name}" is not as its schema says: ${issues.join('; ')}`, {
    name,
    issues,
  })
}
