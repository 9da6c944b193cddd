import { checkGiven, checkInteger, optionNames } from '@taskstream/task-api'
import type { Timer } from './core/timer.ts'
import { abbreviationAt } from './zones/abbreviation.ts'
import { checkZone, zoneOf } from './zones/zone.ts'
import type { Transition, Zone } from './zones/zone.ts'

/** One elapse of a timer, explained to people. */
export interface PreviewEntry {
  /** The instant of the elapse, as ISO 8601 in UTC, with milliseconds only if there are any. */
  readonly instant: string
  /** The local time in the zone: `Sun 2024-03-31 03:00:00`. */
  readonly local: string
  /** How far local time is ahead of UTC: `+02:00`. */
  readonly offset: string
  /** The abbreviated name of the local time, `CEST`, or `GMT+3` if there is none. */
  readonly abbreviation: string
  /** Milliseconds since the previous elapse; undefined for the first. */
  readonly sincePreviousMs?: number
  /** The changes of clocks in the timer's zone since the previous elapse, and the times that they skipped or repeated. */
  readonly notes: readonly string[]
}

export interface PreviewOptions {
  /** Elapses after this instant, in milliseconds since 1970-01-01T00:00Z. */
  readonly after: number
  /** The zone of the local times. Default: the zone of the timer. */
  readonly zone?: string
}

const names = optionNames<PreviewOptions>('preview', { after: true, zone: true })

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const
/** Up to this number, every change of clocks has a note. If there are more, only changes that affect the timer have one. */
const changesTold = 2
/** How many of the skipped or repeated times a note names. */
const timesNamed = 3

/**
 * Lists the next elapses of a timer with their local times and the changes of clocks between them. A timer that ends has fewer than `count`.
 *
 * @param count 1 to 1000
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * preview(calendar('02:30 Europe/Oslo'), 1, { after: Date.parse('2024-03-30T12:00:00Z') })
 * // [{ local: 'Mon 2024-04-01 02:30:00', notes: ['clocks go forward on 2024-03-31, 02:00 to 03:00: 02:30 does not occur'], … }]
 */
export function preview(timer: Timer, count: number, options: PreviewOptions): PreviewEntry[] {
  checkGiven(names, options)
  const { after, zone = timer.zone } = options
  checkInteger('count', count, 1, 1_000)
  checkZone(zone)
  const shown = zoneOf(zone)
  // Clocks in UTC never change: the same timer in UTC shows which local times it names.
  const unchanged = timer.inZone?.('UTC')
  const entries: PreviewEntry[] = []
  let previous = after
  for (let next = timer.next(after); next !== undefined && entries.length < count; next = timer.next(next)) {
    entries.push({
      ...toLocal(next, shown),
      ...(entries.length > 0 && { sincePreviousMs: next - previous }),
      notes: changesBetween(timer, unchanged, previous, next),
    })
    previous = next
  }
  return entries
}

function toLocal(instant: number, zone: Zone): Omit<PreviewEntry, 'notes'> {
  const offset = zone.offsetAt(instant)
  const local = new Date(instant + offset)
  return {
    instant: new Date(instant).toISOString().replace('.000Z', 'Z'),
    local: `${weekdays[local.getUTCDay()]} ${dateOf(local)} ${timeOf(local, 'seconds')}`,
    offset: formatOffset(offset),
    abbreviation: abbreviationAt(zone.name, instant),
  }
}

function changesBetween(timer: Timer, unchanged: Timer | undefined, from: number, to: number): string[] {
  const changes = zoneOf(timer.zone)
    .transitions(from, to)
    .map((change) => ({ change, effect: effectOf(timer, unchanged, change) }))
  return changes
    .filter(({ effect }) => changes.length <= changesTold || effect !== '')
    .map(({ change, effect }) => describe(change) + (effect && `: ${effect}`))
}

function describe({ at, before, after }: Transition): string {
  const [from, to] = [new Date(at + before), new Date(at + after)]
  return `clocks go ${after > before ? 'forward' : 'back'} on ${dateOf(from)}, ${timeOf(from)} to ${timeOf(to)}`
}

/** Says which of the timer's local times the clocks skip or show twice. Empty if there are none, or if the timer has no zone. */
function effectOf(timer: Timer, unchanged: Timer | undefined, { at, before, after }: Transition): string {
  const [from, to] = [at + Math.min(before, after), at + Math.max(before, after)]
  const times: number[] = []
  for (
    let next = unchanged?.next(from - 1);
    next !== undefined && next < to && times.length <= timesNamed;
    next = unchanged?.next(next)
  )
    times.push(next)
  if (times.length === 0) return ''
  const named = times.slice(0, timesNamed).map((time) => timeOf(new Date(time)))
  const list = times.length > timesNamed ? `${named.join(', ')} …` : named.join(', ').replace(/, (?=[^,]*$)/, ' and ')
  const isOne = times.length === 1
  if (after > before) return `${list} ${isOne ? 'does' : 'do'} not occur`
  const second = timer.next(at - 1)
  const isTakenTwice = second !== undefined && second < at + before - after
  return `${list} ${isOne ? 'occurs' : 'occur'} twice, ${isTakenTwice ? 'and both are taken' : 'the first is taken'}`
}

function dateOf(local: Date): string {
  return local.toISOString().slice(0, 10)
}

/** Writes a time of day. Zero seconds are left out, unless they are asked for. */
function timeOf(local: Date, seconds?: 'seconds'): string {
  const time = local
    .toISOString()
    .slice(11, -1)
    .replace(/\.000$/, '')
  return seconds ? time : time.replace(/:00$/, '')
}

function formatOffset(offset: number): string {
  const time = new Date(Math.abs(offset)).toISOString().slice(11, 19).replace(/:00$/, '')
  return `${offset < 0 ? '-' : '+'}${time}`
}
