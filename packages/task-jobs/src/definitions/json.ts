import type { InputSchema } from '@taskstream/task-api'

/**
 * A schema that checks nothing, for inputs that only the compiler checks.
 *
 * @example
 * const email = defineJob('email', { input: json<{ to: string; subject: string }>() })
 */
export function json<Input>(): InputSchema<Input, Input> {
  return { '~standard': { validate: (value) => ({ value: value as Input }) } }
}
