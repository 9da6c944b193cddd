import { checkInteger, checkNames, invalid, isTaskError, optionNames } from '@taskstream/task-api'
import type { FilterState, PageOptions, TaskInfo } from '@taskstream/task-api'
import { idOf, inputOf, isOf, pushedVersionOf, topicOf } from '@taskstream/task-jobs'
import type { AnyJob, AnyTopic, JobSignatures } from '@taskstream/task-jobs'
import { checked, isTopic } from './definitions.ts'
import { given } from './given.ts'

/** So many tasks are read at a time, as their inputs are read with them. */
const portion = 200
/** So many misfits of a definition are told. The first says what is wrong, and a few more say whether there are other reasons. */
const mostMisfits = 10

export interface CheckOptions {
  /** How many jobs, or tasks of a topic, to look at for each definition at most, 1 to 1 000 000. Default 10 000. The oldest come first. */
  readonly limit?: number
}

/** What waits of one definition, and whether its handler could read it. */
export interface CheckedDefinition {
  readonly what: 'job' | 'topic'
  readonly name: string
  /** Whether the database knows the definition. It does not before its first `prepare` or `start`, and then nothing waits. */
  readonly known: boolean
  readonly lookedAt: number
  /** Whether more wait than were looked at. */
  readonly more: boolean
  /** How many there are of each version, by its number: `{ 1: 40, 2: 7 }`. Those whose version is not known are not among them. */
  readonly versions: Readonly<Record<number, number>>
  /** How many of those that were looked at do not fit. */
  readonly misfitCount: number
  /** The first ten of them, the oldest first. */
  readonly misfits: readonly Misfit[]
}

/** A job, or a task of a topic, whose input its handler could not read. */
export interface Misfit {
  /** The caller's own name for it, or `@` and its sequence. `get` and `cancel` take it. */
  readonly id: string
  /** As which version it was pushed. Undefined if its header is no version. */
  readonly version: number | undefined
  /** What does not fit, that a later release has pushed it, or that its signature is missing or wrong. */
  readonly message: string
}

/** What can be checked. */
type Definition = AnyJob | AnyTopic

/** Reads a portion, in a transaction of its own. */
type Page = (name: string, options: PageOptions) => Promise<TaskInfo[]>

const names = optionNames<CheckOptions>('check', { limit: true })
/** The states of what is still to be handled. An expired job was active, and is handled again. */
const waiting: readonly FilterState[] = ['ready', 'delayed', 'blocked', 'suspended', 'active', 'expired']

/**
 * Reads the inputs of all that waits as handlers would, and changes nothing.
 *
 * @throws TaskError ARGUMENT_INVALID; errors of `page`
 */
export async function checkWaiting(
  page: Page,
  signatures: JobSignatures,
  definitions: readonly Definition[],
  options: CheckOptions,
): Promise<CheckedDefinition[]> {
  checkNames(names, options)
  const { limit = 10_000 } = options
  checkInteger('limit', limit, 1, 1_000_000)
  // A list that is empty by mistake would let every deploy pass.
  if (!Array.isArray(definitions) || definitions.length === 0)
    throw invalid('definitions', definitions, 'must be a list of at least one job or topic')
  for (const definition of definitions as readonly Definition[])
    signatures.checkCanVerify(isTopic(definition) ? definition : checked(definition as AnyJob))
  const found: CheckedDefinition[] = []
  for (const definition of definitions as readonly Definition[]) found.push(await checkOne(page, signatures, definition, limit))
  return found
}

async function checkOne(
  page: Page,
  signatures: JobSignatures,
  definition: Definition,
  limit: number,
): Promise<CheckedDefinition> {
  const { name, settings } = definition
  const versions: Record<number, number> = {}
  const misfits: Misfit[] = []
  let misfitCount = 0
  let lookedAt = 0
  const result = (known: boolean, more: boolean): CheckedDefinition => {
    return { what: settings.what, name, known, lookedAt, more, versions, misfitCount, misfits }
  }
  for (let after: number | undefined; ;) {
    // One more than the limit tells whether there are more.
    const size = Math.min(portion, limit + 1 - lookedAt)
    const read = await portionOf(page, topicOf(definition), { states: waiting, size, ...given({ after }) })
    if (!read) return result(false, false)
    for (const task of read) {
      after = task.sequence
      if (!isOf(definition, task)) continue
      if (lookedAt === limit) return result(true, true)
      lookedAt++
      const version = pushedVersionOf(task)
      if (version !== undefined) versions[version] = (versions[version] ?? 0) + 1
      const message = misfitOf(signatures, definition, task)
      if (message === undefined) continue
      misfitCount++
      if (misfits.length < mostMisfits) misfits.push({ id: idOf(task), version, message })
    }
    if (read.length < size) return result(true, false)
  }
}

/** @returns undefined if nobody has prepared the definition: before its first deploy, nothing of it waits */
async function portionOf(page: Page, name: string, options: PageOptions): Promise<TaskInfo[] | undefined> {
  try {
    return await page(name, options)
  } catch (error) {
    if (isTaskError(error, 'TOPIC_UNKNOWN') || isTaskError(error, 'SCHEMA_MISSING')) return undefined
    throw error
  }
}

/** @returns why a handler would not be given the input; undefined if it would */
function misfitOf(signatures: JobSignatures, definition: Definition, task: TaskInfo): string | undefined {
  try {
    signatures.verify(definition, task)
    inputOf(definition, task)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
