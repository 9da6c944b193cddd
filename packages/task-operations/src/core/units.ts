/** Writes values and thresholds for people. */
import type { Threshold, Unit } from './thresholds.ts'

/** Writes a value in its unit. */
export function inUnit(value: number, unit: Unit): string {
  switch (unit) {
    case 'ms':
      return duration(value)
    case 'bytes':
      return bytes(value)
    case 'share':
      return `${rounded(value * 100)} %`
    case 'leases':
      return `${rounded(value)} ${value === 1 ? 'lease' : 'leases'}`
    case 'version':
      return version(value)
    case 'any':
      return String(value)
    default:
      return `${Math.round(value).toLocaleString('en')} ${unit}`
  }
}

/** Writes from where on a value is bad: `warn above 1 min, crit above 15 min`. */
export function inWords({ unit, notice, warn, crit, below, from }: Threshold): string {
  const levels = Object.entries({ notice, warn, crit }).filter(([, level]) => level !== undefined)
  const side = below ? 'below' : 'above'
  const words =
    unit === 'any'
      ? levels.map(([severity]) => `${severity} if any`)
      : levels.map(([severity, level]) => `${severity} ${side} ${inUnit(level!, unit)}`)
  return words.join(', ') + (from ? `, from ${inUnit(from.size, from.unit)} on` : '')
}

/** Writes milliseconds, in the two largest units. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${rounded(ms)} ms`
  const units = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ] as const
  const seconds = Math.floor(ms / 1_000)
  const first = units.findIndex(([, size]) => seconds >= size)
  const parts = units.slice(first, first + 2).map(([name, size], index) => {
    const within = index === 0 ? seconds : seconds % units[first]![1]
    return [Math.floor(within / size), name] as const
  })
  return parts
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count} ${name}`)
    .join(' ')
}

function bytes(value: number): string {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(1, value)) / 10)))
  return `${rounded(value / 2 ** (10 * power))} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`
}

/** A version whose minor version is in hundredths. */
function version(value: number): string {
  const minor = Math.round((value % 1) * 100)
  return minor === 0 ? String(Math.floor(value)) : `${Math.floor(value)}.${minor}`
}

function rounded(value: number): string {
  return String(Math.round(value * 10) / 10)
}
