import { timerLimits } from '../core/timer.ts'
import type { Zone } from '../zones/zone.ts'
import { second } from './fields.ts'
import type { CalendarFields, Component, Components } from './fields.ts'

/** No further value in this field. */
const none = -1
/** Maps each value from `least` on to the smallest allowed value that is not before it, or to `none`. */
interface Table {
  readonly least: number
  readonly values: Int16Array
}

const dayMs = 86_400_000
const dayMicros = dayMs * 1_000
const minute = 60 * second
const hour = 60 * minute
/** The instant, in milliseconds, after which nothing elapses in any zone. */
const end = Date.UTC(timerLimits.lastYear + 1, 0, 3)

/**
 * Makes a function that finds the first elapse after an instant, both in microseconds since 1970.
 *
 * Like systemd, the function looks for the first matching local time first, and then for the instant of that time. A local time that the clocks skip
 * has no instant. A local time that they show twice stands for its first instant, or for the second one if the first has passed.
 */
export function nextOf(fields: CalendarFields, zone: Zone): (after: number) => number | undefined {
  const nextLocal = nextLocalOf(fields)
  return (after) => {
    if (after >= end * 1_000) return undefined
    const from = after + 1
    let local = from + zone.offsetAt(Math.floor(from / 1_000)) * 1_000
    for (;;) {
      const found = nextLocal(local)
      if (found === undefined) return undefined
      const localMs = Math.floor(found / 1_000)
      const micros = found - localMs * 1_000
      const early = zone.offsetAt(localMs - dayMs)
      const late = zone.offsetAt(localMs + dayMs)
      if (early === late) return found - early * 1_000
      for (const offset of [early, late]) {
        const instant = (localMs - offset) * 1_000 + micros
        if (instant >= from && zone.offsetAt(localMs - offset) === offset) return instant
      }
      // The clocks skip this time: continue with the first time after the gap.
      const [gap] = zone.transitions(localMs - early - dayMs, localMs - early + dayMs)
      if (!gap) return undefined
      local = (gap.at + gap.after) * 1_000
    }
  }
}

/** Makes a function that finds the first matching local time from a local time on, in microseconds since 1970 as if the zone were UTC. */
function nextLocalOf(fields: CalendarFields): (from: number) => number | undefined {
  const nextDay = nextDayOf(fields)
  const nextTime = nextTimeOf(fields)
  const first = nextTime(0)
  return (from) => {
    const today = Math.floor(from / dayMicros)
    const day = nextDay(today)
    if (day === undefined) return undefined
    if (day > today) return day * dayMicros + first
    const time = nextTime(from - today * dayMicros)
    if (time !== none) return day * dayMicros + time
    const later = nextDay(today + 1)
    return later === undefined ? undefined : later * dayMicros + first
  }
}

/** Makes a function that finds the first matching day from a day on. Days are counted from 1970-01-01. */
function nextDayOf({ year: years, month: months, day, weekdays, fromEnd }: CalendarFields): (from: number) => number | undefined {
  const yearTable = tableOf(years, timerLimits.firstYear, timerLimits.lastYear)
  const monthTable = tableOf(months, 1, 12)
  const dayTables = [28, 29, 30, 31].map((length) =>
    tableOf(fromEnd ? day?.map((each) => fromStart(each, length)) : day, 1, length),
  )
  return (from) => {
    const date = new Date(from * dayMs)
    const year = date.getUTCFullYear()
    let month = date.getUTCMonth() + 1
    let dayOfMonth = date.getUTCDate()
    for (let y = at(yearTable, Math.max(year, timerLimits.firstYear)); y !== none; y = at(yearTable, y + 1)) {
      if (y !== year) month = dayOfMonth = 1
      for (let m = at(monthTable, month); m !== none; m = at(monthTable, m + 1)) {
        if (m !== month) dayOfMonth = 1
        const first = Date.UTC(y, m - 1, 1) / dayMs
        const days = dayTables[lengthOf(y, m) - 28]!
        for (let d = at(days, dayOfMonth); d !== none; d = at(days, d + 1)) {
          const found = first + d - 1
          // 1970-01-01 was a Thursday.
          if ((weekdays >> ((found + 3) % 7)) & 1) return found
        }
        dayOfMonth = 1
      }
      month = dayOfMonth = 1
    }
    return undefined
  }
}

/** Makes a function that finds the first matching time of day from a time of day on, in microseconds, or `none`. */
function nextTimeOf(fields: CalendarFields): (from: number) => number {
  const hours = tableOf(fields.hour, 0, 23)
  const minutes = tableOf(fields.minute, 0, 59)
  const seconds = fields.second ?? []
  const firstSecond = nextSecond(seconds, 0)
  const firstMinute = at(minutes, 0) * minute + firstSecond
  return (from) => {
    const nowHour = Math.floor(from / hour)
    const h = at(hours, nowHour)
    if (h !== nowHour) return h === none ? none : h * hour + firstMinute
    const rest = from - h * hour
    const nowMinute = Math.floor(rest / minute)
    const m = at(minutes, nowMinute)
    if (m === nowMinute) {
      const s = nextSecond(seconds, rest - m * minute)
      if (s !== none) return h * hour + m * minute + s
    }
    const later = m === nowMinute ? at(minutes, m + 1) : m
    if (later !== none) return h * hour + later * minute + firstSecond
    const laterHour = at(hours, h + 1)
    return laterHour === none ? none : laterHour * hour + firstMinute
  }
}

function nextSecond(components: readonly Component[], from: number): number {
  let found = none
  for (const { start, stop = minute - 1, step } of components) {
    let value = start
    if (value < from) {
      if (step === 0) continue
      value += Math.ceil((from - start) / step) * step
      if (value > stop) continue
    }
    if (found === none || value < found) found = value
  }
  return found
}

/** Turns days that are counted from the end of a month of this length into days of the month. */
function fromStart({ start, stop, step, at }: Component, length: number): Component {
  return stop === undefined
    ? { start: length + 1 - start, step, at }
    : { start: length + 1 - stop, stop: length + 1 - start, step, at }
}

function tableOf(components: Components, least: number, most: number): Table {
  // One entry more than there are values: nothing follows the last value.
  const values = new Int16Array(most - least + 2).fill(none)
  for (const { start, stop = most, step } of components ?? [{ start: least, step: 1 }]) {
    const last = Math.min(step === 0 ? start : stop, most)
    for (let value = start; value <= last; value += step || 1) values[value - least] = value
  }
  for (let index = most - least; index >= 0; index--) if (values[index] === none) values[index] = values[index + 1]!
  return { least, values }
}

function at({ least, values }: Table, value: number): number {
  return values[value - least] ?? none
}

function lengthOf(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}
