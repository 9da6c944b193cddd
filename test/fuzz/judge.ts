/** What may come out of a call. */
import { isTaskError } from '@taskstream/task-api'
import type { TaskErrorCode } from '@taskstream/task-api'
import { CallersOwn } from './wild.ts'

interface Rules {
  readonly codes: readonly TaskErrorCode[]
  readonly changedCodes?: readonly TaskErrorCode[]
  readonly secrets?: readonly string[]
  readonly isWild?: boolean
  readonly writtenWith?: readonly TaskErrorCode[]
  /** Whether the arguments were changed. */
  readonly isChanged: boolean
  readonly hasWritten: boolean
}

/** How long a message may be, whatever was given. */
const mostCharacters = 2_000

/** @throws Error if an error is none of the product's own, tells too much, or comes after a write */
export function judge(error: unknown, rules: Rules): void {
  if (error === undefined) return
  if (rules.hasWritten && !(isTaskError(error) && rules.writtenWith?.includes(error.code)))
    throw new Error('Something was written before the error', { cause: error })
  // What the caller's own code throws is told as it is.
  if ((rules.isChanged || rules.isWild) && isCallersOwn(error)) return
  if (!isTaskError(error)) throw error
  const mayRefuse = rules.isChanged || rules.isWild
  const allowed = [...rules.codes, ...(mayRefuse ? ['ARGUMENT_INVALID', ...(rules.changedCodes ?? [])] : [])]
  if (!allowed.includes(error.code))
    throw new Error(`${error.code} is not among ${allowed.join(', ') || 'no errors'}`, { cause: error })
  if (error.message.length > mostCharacters)
    throw new Error(`The message has ${error.message.length} characters`, { cause: error })
  for (const secret of rules.secrets ?? [])
    if (error.message.includes(secret)) throw new Error(`The message tells a secret: ${error.message}`)
}

/** Whoever passes a revoked proxy, or a class in place of a function, hears of it from the engine. */
function isCallersOwn(error: unknown): boolean {
  if (error instanceof CallersOwn) return true
  return (
    error instanceof TypeError &&
    /proxy that has been revoked$|^Class constructor.* cannot be invoked without 'new'/.test(error.message)
  )
}
