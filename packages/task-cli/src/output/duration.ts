/** Writes spans of time and instants for people. */

const units: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

/** Writes milliseconds in the two largest units: `90061000` is `1d 1h`. */
export function duration(ms: number): string {
  const first = units.findIndex(([, size]) => ms >= size)
  if (first < 0) return `${ms}ms`
  const parts = units.slice(first, first + 2).map(([name, size], index) => {
    const within = index === 0 ? ms : ms % units[first]![1]
    return [Math.floor(within / size), name] as const
  })
  return parts
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count}${name}`)
    .join(' ')
}

/** Writes how far an instant is from now in the largest unit: `5min` ago, or `in 5min`. */
export function relative(instant: Date, now: number): string {
  const ms = now - instant.getTime()
  const [name, size] = units.find(([, size]) => Math.abs(ms) >= size) ?? ['s', 1_000]
  const text = `${Math.floor(Math.abs(ms) / size)}${name}`
  return ms <= -1_000 ? `in ${text}` : text
}

/** Writes an instant in UTC, or in the time zone of this process with its offset. */
export function absolute(instant: Date, utc: boolean): string {
  if (Number.isNaN(instant.getTime())) return ''
  if (utc) return instant.toISOString()
  const offset = -instant.getTimezoneOffset()
  const local = new Date(instant.getTime() + offset * 60_000).toISOString().slice(0, -1)
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${local}${offset < 0 ? '-' : '+'}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`
}
