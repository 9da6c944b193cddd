/** Reads and writes instants to the microsecond, which `Date` cannot hold. */

/**
 * Reads an ISO 8601 instant as microseconds since 1970. The years are 1970 to 2199, a fraction has at most six digits, and the default zone is UTC.
 * Undefined if the text is no such instant.
 */
export function parseInstant(text: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d:\d\d)?)?$/.exec(text)
  if (!match) return undefined
  const [, date = '', time = '00:00', seconds = '00', fraction = '', zone = 'Z'] = match
  const ms = Date.parse(`${date}T${time}:${seconds}${zone}`)
  // JavaScript reads February 30 as March 1.
  const isDate = !Number.isNaN(ms) && new Date(`${date}T00:00:00Z`).toISOString().startsWith(date)
  return isDate && ms >= 0 && ms < Date.UTC(2200, 0, 1) ? ms * 1_000 + Number(fraction.padEnd(6, '0')) : undefined
}

/** Writes microseconds since 1970 as `2024-02-28T00:01:00Z`, with three or six digits of a fraction if there is one. */
export function formatInstant(micros: number): string {
  const fraction = micros % 1_000_000
  const seconds = new Date((micros - fraction) / 1_000).toISOString().slice(0, 19)
  if (fraction === 0) return `${seconds}Z`
  const digits = String(fraction).padStart(6, '0')
  return `${seconds}.${digits.endsWith('000') ? digits.slice(0, 3) : digits}Z`
}
