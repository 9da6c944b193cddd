import { dueMsOf } from '../core/blocked.ts'
import {
  checkDuration,
  checkInstant,
  checkInteger,
  checkNames,
  checkStorable,
  checkText,
  creationNames,
  invalid,
  taskLimits,
} from '@taskstream/task-api'
import type { TaskCreation, TaskHeaders } from '@taskstream/task-api'

/** A creation that was checked. Fields that were not given, and blank texts, are null. */
export interface CheckedCreation {
  readonly identifier: string
  readonly input: string | null
  readonly reference: string | null
  readonly externalId: string | null
  readonly suspended: boolean
  readonly dueMs: number | null
  readonly delayMs: number | null
  readonly deadline: number | null
  readonly deadlineMs: number | null
  readonly priority: number
  readonly maxTries: number | null
  readonly headers: string | null
  /** A later creation of the same push replaces this one. */
  readonly redundant?: boolean
  /** The creation has only an identifier, and perhaps an input and headers. */
  readonly plain: boolean
}

/** Headers that a push has written as JSON already. Creations often share one object, such as the context of a trace. */
export type HeaderTexts = Map<TaskHeaders, string>

/**
 * @param at where the creation stands in a list, for error messages
 * @param texts those of the same push
 * @throws TaskError ARGUMENT_INVALID
 */
export function checkCreation(creation: string | TaskCreation, at: string, texts: HeaderTexts): CheckedCreation {
  const given: TaskCreation = typeof creation === 'string' ? { identifier: creation } : creation
  if (typeof given !== 'object' || given === null) throw invalid(`${at}creation`, creation, 'must be an identifier or an object')
  checkNames(creationNames, given, at)
  checkText(`${at}identifier`, given.identifier, taskLimits.identifierLength)
  // mutants: equivalent condition:false, the other branch takes the same fields
  return isPlain(given)
    ? {
        ...nothingElse,
        identifier: given.identifier,
        input: optionalText(`${at}input`, given.input, taskLimits.inputLength),
        headers: optionalHeaders(at, given.headers, texts),
        // mutants: equivalent literal property, the other statement pushes the same task
        plain: true,
      }
    : checkRest(given, at, texts)
}

/** The values of fields that a creation does not give. Most creations give none of these. */
const nothingElse = {
  reference: null,
  externalId: null,
  suspended: false,
  dueMs: null,
  delayMs: null,
  deadline: null,
  deadlineMs: null,
  priority: 0,
  maxTries: null,
} as const
const otherFields = Object.keys(nothingElse) as (keyof typeof nothingElse)[]

function isPlain(given: TaskCreation): boolean {
  // mutants: equivalent result, the other branch takes the same fields
  return (
    given.reference === undefined &&
    given.externalId === undefined &&
    given.suspended === undefined &&
    given.due === undefined &&
    given.delayMs === undefined &&
    given.deadline === undefined &&
    given.deadlineMs === undefined &&
    given.priority === undefined &&
    given.maxTries === undefined
  )
}

function checkRest(given: TaskCreation, at: string, texts: HeaderTexts): CheckedCreation {
  if (given.due !== undefined && given.delayMs !== undefined)
    throw invalid(`${at}delayMs`, given.delayMs, 'cannot be given together with due')
  if (given.due !== undefined) checkInstant(`${at}due`, given.due)
  if (given.delayMs !== undefined) checkDuration(`${at}delayMs`, given.delayMs)
  if (given.deadline !== undefined && given.deadlineMs !== undefined)
    throw invalid(`${at}deadlineMs`, given.deadlineMs, 'cannot be given together with deadline')
  if (given.deadline !== undefined) checkInstant(`${at}deadline`, given.deadline)
  if (given.deadlineMs !== undefined) checkDuration(`${at}deadlineMs`, given.deadlineMs)
  if (given.externalId !== undefined) checkText(`${at}externalId`, given.externalId, taskLimits.externalIdLength)
  if (given.priority !== undefined) checkInteger(`${at}priority`, given.priority, -taskLimits.priority, taskLimits.priority)
  if (given.maxTries !== undefined) checkInteger(`${at}maxTries`, given.maxTries, 1, taskLimits.tries)
  if (given.suspended !== undefined && typeof given.suspended !== 'boolean')
    throw invalid(`${at}suspended`, given.suspended, 'must be true or false')
  const checked = {
    identifier: given.identifier,
    input: optionalText(`${at}input`, given.input, taskLimits.inputLength),
    reference: optionalText(`${at}reference`, given.reference, taskLimits.referenceLength),
    externalId: given.externalId ?? null,
    // mutants: equivalent nullish:given.suspended, what is undefined counts as false
    suspended: given.suspended ?? false,
    dueMs: given.due ? dueMsOf(given.due) : null,
    // A delay of 0 is no delay.
    delayMs: given.delayMs || null,
    // mutants: equivalent nullish:given.deadline?.getTime(), what is undefined is stored as null
    deadline: given.deadline?.getTime() ?? null,
    // mutants: equivalent nullish:given.deadlineMs, what is undefined is stored as null
    deadlineMs: given.deadlineMs ?? null,
    priority: given.priority ?? 0,
    // mutants: equivalent nullish:given.maxTries, what is undefined is stored as null
    maxTries: given.maxTries ?? null,
    headers: optionalHeaders(at, given.headers, texts),
  }
  // mutants: equivalent result property equality, the other statement pushes the same task
  return { ...checked, plain: otherFields.every((field) => checked[field] === nothingElse[field]) }
}

/** A blank text counts as absent (suite/push.ts, 'takes a blank input'). */
function optionalText(argument: string, value: string | undefined, maximum: number): string | null {
  if (value === undefined || value === null) return null
  checkStorable(argument, value, maximum)
  return /\S/.test(value) ? value : null
}

function optionalHeaders(at: string, headers: TaskHeaders | undefined, texts: HeaderTexts): string | null {
  if (headers === undefined) return null
  const known = texts.get(headers)
  if (known !== undefined) return known
  const text = checkHeaders(`${at}headers`, headers)
  texts.set(headers, text)
  return text
}

function checkHeaders(argument: string, headers: TaskHeaders): string {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    throw invalid(argument, headers, 'must be an object')
  let text: string
  try {
    text = JSON.stringify(headers)
  } catch {
    throw invalid(argument, '[circular]', 'must be JSON')
  }
  // JSON writes NUL and unpaired surrogates as escapes. A database that reads the JSON would refuse or change them.
  // mutants: equivalent string:'mutant', no such text looks like an escape
  const json = text.replaceAll('\\\\', '')
  if (json.includes('\\u0000')) throw invalid(argument, text, 'must not contain a NUL character (\\0)')
  if (/\\ud[89a-f]/i.test(json)) throw invalid(argument, text, 'must not contain an unpaired surrogate: it is not valid Unicode')
  checkStorable(argument, text, taskLimits.headersLength)
  return text
}
