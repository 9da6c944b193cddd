import type { HeldTask } from '@taskstream/task-api'
import { InvalidArgumentError } from 'commander'

/** Variables that say what the program works on. What the task does not have is not set. */
export function environmentOf(task: HeldTask, file: string): Record<string, string> {
  const { topic, sequence, identifier, attempt, tries, externalId, reference, headers } = task
  const traceparent = headers?.['traceparent']
  return {
    TASKSTREAM_TOPIC: topic,
    TASKSTREAM_SEQUENCE: String(sequence),
    TASKSTREAM_IDENTIFIER: identifier,
    TASKSTREAM_ATTEMPT: String(attempt),
    TASKSTREAM_TRIES: String(tries),
    TASKSTREAM_FILE: file,
    ...(externalId !== undefined && { TASKSTREAM_EXTERNAL_ID: externalId }),
    ...(reference !== undefined && { TASKSTREAM_REFERENCE: reference }),
    // Headers may have anything in its place.
    ...(typeof traceparent === 'string' && /^[\da-f]{2}(-[\da-f]+)+$/.test(traceparent) && { TRACEPARENT: traceparent }),
  }
}

const own: ReadonlySet<string> = new Set(
  ['TOPIC', 'SEQUENCE', 'IDENTIFIER', 'ATTEMPT', 'TRIES', 'FILE', 'EXTERNAL_ID', 'REFERENCE'].map((name) => `TASKSTREAM_${name}`),
)

/**
 * Reads `--env NAME`, which passes a variable of this process on, and `--env NAME=value`.
 *
 * @throws InvalidArgumentError if the variable is not set, or is one that each task sets
 */
export function readVariable(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name = '', given] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(text) ?? []
  if (name === '') throw new InvalidArgumentError('It must be NAME, or NAME=value.')
  if (own.has(name)) throw new InvalidArgumentError(`${name} is set for each task.`)
  const value = given ?? process.env[name]
  if (value === undefined) throw new InvalidArgumentError(`${name} is not set here: export it, or write ${name}=value.`)
  return { ...before, [name]: value }
}
