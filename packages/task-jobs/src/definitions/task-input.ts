import { readInput, TaskError } from '@taskstream/task-api'
import type { HeldTask, InputSchema, TaskHeaders } from '@taskstream/task-api'
import { json } from './json.ts'
import { readVersion, versionOf } from './versioned.ts'
import type { TaskDefinition } from './task-settings.ts'

/** The header that has the version of an input, from version 2 on. */
const header = 'version'
const anything = json<unknown>()

/** What a task has of its input. */
export type StoredInput = Pick<HeldTask, 'input' | 'headers'>

/** The header of what is pushed by a schema. There is none for version 1, so that inputs without versions cost nothing. */
export function versionHeader(schema: InputSchema<unknown> | undefined): TaskHeaders | undefined {
  const version = schema === undefined ? 1 : versionOf(schema)
  return version === 1 ? undefined : { [header]: version }
}

/** The version as which an input was pushed: 1 if no header says another. Undefined unless it is a whole number from 1. */
export function pushedVersionOf({ headers }: Pick<StoredInput, 'headers'>): number | undefined {
  const version = headers?.[header]
  if (version === undefined) return 1
  return Number.isSafeInteger(version) && (version as number) >= 1 ? (version as number) : undefined
}

/** The error of an input that a later release has pushed. Undefined if the definition knows the version, or has no input. */
export function newerInputOf({ name, settings }: TaskDefinition, task: StoredInput): TaskError | undefined {
  if (!settings.input) return undefined
  const version = pushedVersionOf(task)
  const known = versionOf(settings.input)
  if (version === undefined || version <= known) return undefined
  return new TaskError(
    'INPUT_NEWER',
    `The input of a task "${name}" has version ${version}, and this program knows none after ${known}: such tasks wait for a worker of the release that pushes them`,
    { name, version, known },
  )
}

/**
 * The input of a task as its handler gets it: checked, and of the newest version.
 *
 * @throws TaskError INPUT_INVALID, also if it is no JSON; INPUT_NEWER; ARGUMENT_INVALID if a schema or an upcast answers later
 */
export function inputOf(definition: TaskDefinition, task: StoredInput): unknown {
  const { name, settings } = definition
  if (!settings.input) return undefined
  const newer = newerInputOf(definition, task)
  if (newer) throw newer
  const version = pushedVersionOf(task)
  if (version !== undefined) return readVersion(settings.input, name, readInput(anything, name, task.input), version)
  const issue = `its header "${header}" must be a whole number from 1, and is ${JSON.stringify(task.headers?.[header])}`
  throw new TaskError('INPUT_INVALID', `Nobody knows the version of a task "${name}": ${issue}`, { name, issues: [issue] })
}
