import { failure } from './errors.ts'
import type { texts } from './errors.ts'

/** What types and ids of tasks, and names of scheduled tasks, must match. */
const pattern = /^[a-zA-Z0-9_:-]+$/

/** @throws TaskError ARGUMENT_INVALID with the text of asyncjobs, unless the name matches `^[a-zA-Z0-9_:-]+$` */
export function checkName(argument: string, name: unknown, text: keyof typeof texts): asserts name is string {
  if (typeof name === 'string' && pattern.test(name)) return
  throw failure('ARGUMENT_INVALID', text, `must match ${pattern.source}`, { argument, value: name })
}
