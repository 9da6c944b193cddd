/**
 * The policy in `--retry`:
 *
 *     policy = "none" | "fixed(" pause "," tries ")" | "exponential(" first pause "," longest pause "," tries ")"
 */
import { taskLimits } from '@taskstream/task-api'
import { InvalidArgumentError } from 'commander'
import { durationOf } from './durations.ts'

export type RetryWords =
  | { readonly kind: 'none' }
  | { readonly kind: 'fixed'; readonly tries: number; readonly afterMs: number }
  | { readonly kind: 'exponential'; readonly tries: number; readonly firstMs: number; readonly maxMs: number }

const forms = "Write none, 'fixed(30s, 5)' for five tries, or 'exponential(1s, 5min, 10)' for ten with pauses from 1s to 5min."

/** @throws InvalidArgumentError that says which part is wrong */
export function retryWords(text: string): RetryWords {
  if (text.trim() === 'none') return { kind: 'none' }
  const [, kind, inside = ''] = /^\s*(fixed|exponential)\s*\(([^()]*)\)\s*$/.exec(text) ?? []
  const parts = inside.split(',')
  if (kind === 'fixed' && parts.length === 2) return { kind, afterMs: pause(parts[0]!), tries: tries(parts[1]!) }
  if (kind !== 'exponential' || parts.length !== 3) throw new InvalidArgumentError(forms)
  const [firstMs, maxMs] = [pause(parts[0]!), pause(parts[1]!)]
  if (firstMs > maxMs)
    throw new InvalidArgumentError(`The first pause, ${parts[0]!.trim()}, is longer than the longest, ${parts[1]!.trim()}.`)
  return { kind, firstMs, maxMs, tries: tries(parts[2]!) }
}

function pause(text: string): number {
  const ms = durationOf(text)
  if (ms === undefined || ms > taskLimits.durationMs)
    throw new InvalidArgumentError(`"${text.trim()}" is no pause, such as 500ms, 60s, 5min, 2h or 1d. ${forms}`)
  return ms
}

function tries(text: string): number {
  const count = Number(text)
  if (!/^\s*\d+\s*$/.test(text) || count < 1 || count > taskLimits.tries)
    throw new InvalidArgumentError(`"${text.trim()}" is no number of tries, 1 to ${taskLimits.tries}. ${forms}`)
  return count
}
