/** Durations as operators write them: `500ms`, `60s`, `5min`, `2h`, `1d`. */
import { InvalidArgumentError } from 'commander'

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 }

/** @returns whole milliseconds; undefined if the text is no duration */
export function durationOf(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|min|h|d)$/.exec(text.trim()) ?? []
  return digits === undefined ? undefined : Math.round(Number(digits) * units[unit]!)
}

/** Makes the reader of an option that is a duration. @param least the shortest one, as `1s`; @param most the longest one */
export function durationOption(least: string, most: string): (text: string) => number {
  return (text) => {
    const ms = durationOf(text)
    if (ms === undefined || ms < durationOf(least)! || ms > durationOf(most)!)
      throw new InvalidArgumentError(`It must be a duration from ${least} to ${most}, such as 500ms, 60s, 5min, 2h or 1d.`)
    return ms
  }
}

/** Writes a duration in the unit that is easiest to read, as `250ms` or `1.5s`. */
export function durationText(ms: number): string {
  const [unit, size] = Object.entries(units).findLast(([, size]) => ms >= size) ?? ['ms', 1]
  return `${Math.round((10 * ms) / size) / 10}${unit}`
}
