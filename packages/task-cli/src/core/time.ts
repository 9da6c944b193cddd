/** Reads spans of time and instants of options. */
import { invalid } from '@taskstream/task-api'
import { InvalidArgumentError } from 'commander'
import { parseInstant } from './instant.ts'

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

const mostMs = 36_500 * 86_400_000

/** Reads `60s`, `1.5h` or `30d` as milliseconds, for an option. */
export function span(text: string): number {
  const [, amount = '', unit = ''] = /^(\d{1,12}(?:\.\d{1,6})?)([a-z]+)$/.exec(text) ?? []
  const ms = Math.round(Number(amount) * (units[unit] ?? Number.NaN))
  if (amount === '' || Number.isNaN(ms) || ms > mostMs)
    throw new InvalidArgumentError(
      `It must be a number with ${Object.keys(units).join(', ')}, such as 60s, of at most 100 years.`,
    )
  return ms
}

/** Reads seconds, such as 0.5, as milliseconds, for an option. */
export function seconds(text: string): number {
  const value = Number(text)
  if (!/^\d+(\.\d+)?$/.test(text) || value < 0.1 || value > 86_400)
    throw new InvalidArgumentError('It must be a number of seconds from 0.1 to 86400.')
  return Math.round(value * 1_000)
}

/** @throws TaskError ARGUMENT_INVALID */
export function toInstant(option: string, text: string): Date {
  const micros = parseInstant(text)
  if (micros === undefined) throw invalid(option, text, 'must be an instant such as 2027-01-01T08:00:00Z')
  return new Date(micros / 1_000)
}
