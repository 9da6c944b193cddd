import { taskLimits } from '@taskstream/task-api'
import { Misreading } from './timer-error.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/**
 * Reads an ISO 8601 duration in milliseconds: `PT10M`, `P1DT12H`, `PT0.5S`. Months and years are refused, because their lengths vary.
 *
 * @throws Misreading unless the text is a duration of whole milliseconds, from 1 to a hundred years
 */
export function parseDuration(text: string, position: number): number {
  if (/^P\d+[YM]/i.test(text))
    throw new Misreading(position, 'months and years vary in length: use a calendar event, such as monthly')
  const match = /^P(?=.)(?:(\d+)W)?(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?$/.exec(text)
  if (!match) throw new Misreading(position, 'an interval is an ISO 8601 duration, such as PT10M for ten minutes')
  const [weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1, 6).map((digits) => Number(digits ?? 0))
  const ms =
    (weeks * 7 + days) * day + hours * hour + minutes * minute + seconds * second + Number((match[6] ?? '').padEnd(3, '0'))
  if (ms < 1 || ms > taskLimits.durationMs) throw new Misreading(position, 'an interval is one millisecond to a hundred years')
  return ms
}

/** Writes a duration as ISO 8601, such as `P1DT12H`. */
export function formatDuration(ms: number): string {
  const days = Math.floor(ms / day)
  const hours = Math.floor((ms % day) / hour)
  const minutes = Math.floor((ms % hour) / minute)
  const seconds = (ms % minute) / second
  const time = `${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${seconds ? `${seconds}S` : ''}`
  return `P${days ? `${days}D` : ''}${time && `T${time}`}`
}
