/** Instants as text, to the microsecond. */

/** ISO 8601 of the years 1970 to 2199, with at most six digits of a fraction, as microseconds since 1970; without a zone it is UTC. */
export function parseInstant(text: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d:\d\d)?)?$/.exec(text)
  if (!match) return undefined
  const [, date = '', time = '00:00', seconds = '00', fraction = '', zone = 'Z'] = match
  const ms = Date.parse(`${date}T${time}:${seconds}${zone}`)
  // JavaScript takes February 30 for March 1.
  const isDate = !Number.isNaN(ms) && new Date(`${date}T00:00:00Z`).toISOString().startsWith(date)
  return isDate && ms >= 0 && ms < Date.UTC(2200, 0, 1) ? ms * 1_000 + Number(fraction.padEnd(6, '0')) : undefined
}

/** `2024-02-28T00:01:00Z`, with a fraction of three or six digits if there is one. */
export function formatInstant(micros: number): string {
  const fraction = micros % 1_000_000
  const seconds = new Date((micros - fraction) / 1_000).toISOString().slice(0, 19)
  if (fraction === 0) return `${seconds}Z`
  const digits = String(fraction).padStart(6, '0')
  return `${seconds}.${digits.endsWith('000') ? digits.slice(0, 3) : digits}Z`
}
