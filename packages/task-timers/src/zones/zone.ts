import { invalid } from '@taskstream/task-api'
import { zoneName } from './zone-name.ts'

/** A change of a zone's clocks. An offset is by how many milliseconds local time is ahead of UTC. */
export interface Transition {
  /** The first instant with the new offset, in milliseconds. */
  readonly at: number
  readonly before: number
  readonly after: number
}

/** The offsets of a time zone from UTC, in milliseconds. A local time is a number too: the milliseconds since 1970 as if the zone were UTC. */
export interface Zone {
  readonly name: string
  offsetAt(instant: number): number
  /** The changes after `from`, up to and including `to`. */
  transitions(from: number, to: number): Transition[]
}

interface Span {
  readonly offset: number
  readonly transitions: readonly Transition[]
}

const day = 86_400_000
/** How many days of a zone are searched for changes at a time. The changes that are found are kept. */
const spanDays = 384
/**
 * Two changes of a zone are never closer than this: the closest since 1970 are an hour less than a week apart (America/Recife in October 2000, and
 * Asia/Gaza in autumns to come).
 */
const stepDays = 4

const zones = new Map<string, Zone>([['UTC', { name: 'UTC', offsetAt: () => 0, transitions: () => [] }]])

/** The zone of a name, spelled as in the time zone database. Its changes are computed on first use, and kept. */
export function zoneOf(name: string): Zone {
  let zone = zones.get(name)
  if (!zone) zones.set(name, (zone = openZone(name)))
  return zone
}

/** @throws TaskError ARGUMENT_INVALID unless `name` is a zone, spelled as in the time zone database. */
export function checkZone(name: unknown): asserts name is string {
  const known = typeof name === 'string' ? zoneName(name) : undefined
  if (known === undefined || known !== name)
    throw invalid('zone', name, `must be a name of the time zone database, such as ${known ?? 'Europe/Oslo'}`)
}

function openZone(name: string): Zone {
  const spans: (Span | undefined)[] = []
  const offset = offsetsOf(name)
  // The first span is before 1970, because 1970 begins in it where clocks are behind UTC.
  const spanAt = (instant: number): Span => {
    const index = Math.floor(instant / (spanDays * day))
    return (spans[index + 1] ??= findTransitions(offset, index * spanDays * day))
  }
  const transitions = (from: number, to: number): Transition[] => {
    const found: Transition[] = []
    for (let start = from; ; start += spanDays * day) {
      const within = spanAt(Math.min(start, to))
      for (const each of within.transitions) if (each.at > from && each.at <= to && !found.includes(each)) found.push(each)
      if (start >= to) return found
    }
  }
  return {
    name,
    transitions,
    offsetAt(instant) {
      const span = spanAt(instant)
      let offset = span.offset
      for (const { at, after } of span.transitions) if (at <= instant) offset = after
      return offset
    },
  }
}

function findTransitions(offset: (instant: number) => number, start: number): Span {
  const transitions: Transition[] = []
  const first = offset(start)
  let before = first
  for (let days = stepDays; days <= spanDays; days += stepDays) {
    const to = start + days * day
    const after = offset(to)
    if (after !== before) transitions.push({ at: bisect(offset, to - stepDays * day, to, before), before, after })
    before = after
  }
  return { offset: first, transitions }
}

/** The first whole second after `low` with another offset than `before`. At `high` the offset has changed already. */
function bisect(offset: (instant: number) => number, low: number, high: number, before: number): number {
  let [from, to] = [low / 1_000, high / 1_000]
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2)
    if (offset(middle * 1_000) === before) from = middle
    else to = middle
  }
  return to * 1_000
}

/** Reads offsets from the platform's time zone database, one instant at a time. */
function offsetsOf(timeZone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return (instant) => {
    const [month = 0, date = 0, year = 0, hour = 0, minute = 0, second = 0] = (format.format(instant).match(/\d+/g) ?? []).map(
      Number,
    )
    return Date.UTC(year, month - 1, date, hour, minute, second) - instant
  }
}
