import { checkInput, checkNames, invalid, jsonOf, optionNames } from '@taskstream/task-api'
import type { TaskCreation, TaskHeaders } from '@taskstream/task-api'
import { nameHeaders } from '../definitions/job-name.ts'
import { noSignatures } from '../signatures/job-signatures.ts'
import type { JobSignatures } from '../signatures/job-signatures.ts'
import { dependenciesOf } from '../definitions/needs.ts'
import type { NeededRefs } from '../definitions/needs.ts'
import { checkTags } from '../definitions/task-settings.ts'
import { versionHeader } from '../definitions/task-input.ts'
import { timeoutHeader } from '../definitions/task-timeout.ts'
import type { JobTags, TaskDefinition } from '../definitions/task-settings.ts'

/** Options of one pushed job. What is given here counts before what the definition says. */
export interface JobPushOptions extends Pick<
  TaskCreation,
  'due' | 'delayMs' | 'deadline' | 'deadlineMs' | 'priority' | 'maxTries' | 'suspended'
> {
  /** The caller's own name for the job. A second push of an id finds the first job, ended or not. May not begin with `@`. */
  readonly id?: string
  /** What the job is about. Only for jobs that are defined with a `key`, and for typed topics. */
  readonly key?: string
  readonly tags?: JobTags
  /** How long one try may take, in milliseconds, 1 to one day. Not for typed topics. Default: as the definition of its handler says. */
  readonly timeoutMs?: number
}

/** The options of any push. */
export interface AnyPushOptions extends JobPushOptions {
  /** The jobs that this one needs, as their pushes returned them. Their types are in the definition. */
  readonly needs?: unknown
}

/**
 * The input of a job, if it has one, and the options of the push. The input is never `undefined`, of which there is no JSON. Its type comes from the
 * definition of the job alone, so that names which are not in it are found.
 */
export type PushArguments<Given, Needs = void> =
  WithoutNeeds<Needs> extends true
    ? [Given] extends [NoInput<Given>]
      ? [input?: undefined, options?: JobPushOptions]
      : [input: NoInfer<Exclude<Given, undefined>>, options?: JobPushOptions]
    : [
        input: [Given] extends [NoInput<Given>] ? undefined : NoInfer<Exclude<Given, undefined>>,
        options: JobPushOptions & { readonly needs: NeededRefs<NoInfer<Needs>> },
      ]

/** Of what is no job nothing is known, and its error should not speak of needs. */
type WithoutNeeds<Needs> = [Needs] extends [void] ? true : unknown extends Needs ? true : false

/** An input of the type `any` is an input, though it would fit `void`. */
type NoInput<Given> = unknown extends Given ? never : void

const names = optionNames<AnyPushOptions>('push', {
  id: true,
  key: true,
  due: true,
  delayMs: true,
  deadline: true,
  deadlineMs: true,
  priority: true,
  maxTries: true,
  suspended: true,
  tags: true,
  timeoutMs: true,
  needs: true,
})

/**
 * Makes the task of a job. The input is checked as the handler will get it, after JSON, and stored as it is given.
 *
 * @param signatures sign the task if the definition says so
 * @throws TaskError ARGUMENT_INVALID, INPUT_INVALID
 */
export function creationOf(
  definition: TaskDefinition,
  given: unknown,
  options: AnyPushOptions = {},
  signatures: Pick<JobSignatures, 'signed'> = noSignatures,
): TaskCreation {
  checkNames(names, options)
  const { settings, name } = definition
  const { id, key, tags = settings.tags, timeoutMs, due, delayMs, deadline, suspended } = options
  const { maxTries = settings.maxTries, priority = settings.priority } = options
  const deadlineMs = options.deadlineMs ?? (deadline === undefined ? settings.deadlineMs : undefined)
  const input = inputText(definition, given)
  if (key !== undefined && settings.key === undefined && settings.what === 'job')
    throw invalid('key', key, `must not be given: the ${settings.what} "${name}" is defined without a key`)
  if (timeoutMs !== undefined && settings.what === 'topic')
    throw invalid('timeoutMs', timeoutMs, `must not be given: the tasks of the topic "${name}" are handled in batches`)
  const isBlocked = dependenciesOf(definition, options.needs).length > 0
  // A task has one time for which it waits.
  for (const [argument, value] of Object.entries({ due, delayMs, suspended }))
    if (isBlocked && value !== undefined)
      throw invalid(argument, value, `must not be given: the ${settings.what} "${name}" starts when what it needs has ended`)
  const externalId = textOf('id', definition, id ?? settings.id?.(given as never))
  // Such an id stands for a sequence.
  if (externalId?.startsWith('@')) throw invalid('id', externalId, 'must not begin with @')
  const creation: { [Field in keyof TaskCreation]: TaskCreation[Field] | undefined } & Pick<TaskCreation, 'identifier'> = {
    identifier: identifierOf(definition, given, key),
    input,
    externalId,
    due,
    delayMs,
    deadline,
    deadlineMs,
    priority,
    maxTries,
    suspended: isBlocked ? true : suspended,
    headers: headersOf(definition, tags, timeoutMs),
  }
  const entries = Object.entries(creation).filter(([, value]) => value !== undefined)
  return signatures.signed(definition, Object.fromEntries(entries) as unknown as TaskCreation)
}

function identifierOf(definition: TaskDefinition, given: unknown, key: string | undefined): string {
  const { subKeys } = definition.settings
  const text = key === undefined ? definedKey(definition, given) : textOf('key', definition, key)!
  return subKeys ? subKeys.next(text) : text
}

function definedKey(definition: TaskDefinition, given: unknown): string {
  const { name, settings } = definition
  // A function that returns nothing is refused: otherwise all such tasks would have one key.
  if (settings.key) return textOf('key', definition, settings.key(given as never) ?? null)!
  if (settings.topic.keyed) throw invalid('key', undefined, `must be given, as the definition of the topic "${name}" makes none`)
  return name
}

/** Checks what a function of the definition, or the push, has given. Its length is checked where it is stored. */
function textOf(what: string, { name, settings }: TaskDefinition, value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  throw invalid(what, value, `of the ${settings.what} "${name}" must be a string`)
}

function inputText({ name, settings }: TaskDefinition, given: unknown): string | undefined {
  if (!settings.input) {
    if (given === undefined) return undefined
    throw invalid('input', given, `must not be given: the ${settings.what} "${name}" is defined without an input`)
  }
  const text = jsonOf(name, given)
  checkInput(settings.input, name, JSON.parse(text))
  return text
}

function headersOf(
  definition: TaskDefinition,
  tags: JobTags | undefined,
  timeoutMs: number | undefined,
): TaskHeaders | undefined {
  if (tags !== undefined) checkTags(tags)
  const [name, version] = [nameHeaders(definition), versionHeader(definition.settings.input)]
  const timeout = timeoutHeader(timeoutMs)
  return name || version || timeout || tags ? { ...name, ...version, ...timeout, ...(tags && { tags }) } : undefined
}
