import { nearest } from '@taskstream/task-api'
import { cronPrefix, readCron } from '../cron/cron.ts'
import { timerLimits } from '../core/timer.ts'
import { zoneName } from '../zones/zone-name.ts'
import { normalize } from './normalize.ts'
import { parse, shorthands } from './parse.ts'
import { weekdayNames } from './weekdays.ts'
import { wrap } from './wrap.ts'

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const weekday = `\\b(${weekdays.join('|')})\\b`

const meanings: ReadonlyMap<string, string> = new Map([
  ['every minute', 'minutely'],
  ['every hour', 'hourly'],
  ['every day', 'daily'],
  ['every week', 'weekly'],
  ['every month', 'monthly'],
  ['every quarter', 'quarterly'],
  ['every year', 'yearly'],
  ['every second', '*:*:*'],
  ['secondly', '*:*:*'],
  ['midnight', '00:00'],
  ['noon', '12:00'],
  ['weekdays', 'Mon..Fri'],
  ['every weekday', 'Mon..Fri'],
  ['weekends', 'Sat,Sun'],
])

/** The dates for which shorthands stand, if a time follows. */
const dates: ReadonlyMap<string, string> = new Map([
  ['daily', ''],
  ['weekly', 'Mon '],
  ['monthly', '*-*-01 '],
  ['quarterly', '*-01,04,07,10-01 '],
  ['yearly', '*-01-01 '],
])

/**
 * Rewrites common mistakes into valid expressions, one after the other, each on the result of those before it. The comment before each is an
 * example of a mistake.
 */
const rewritings: readonly ((text: string) => string)[] = [
  //  12:00
  (text) => text.trim().replaceAll(/\s+/g, ' '),
  // @daily, from cron
  (text) => text.replace(/^@(?=[a-z])/i, ''),
  // dayly
  (text) => (/^[a-z-]+$/i.test(text) ? (nearest(text, shorthands.keys()) ?? text) : text),
  // weekdays 12:00, every day
  (text) =>
    text.replaceAll(
      /\b[a-z]+( (minute|hour|day|weekday|week|month|quarter|year|second)\b)?/gi,
      (word) => meanings.get(word.toLowerCase()) ?? word,
    ),
  // 2024/02/29, 20240229
  (text) => text.replace(/^(\d{4})\/(\d\d?)\/(\d\d?)/, '$1-$2-$3').replace(/^(\d{4})(\d\d)(\d\d)(?!\d)/, '$1-$2-$3'),
  // 2024-02-29T12:00:00Z
  (text) => text.replace(/(?<=\d)T(?=\d)/, ' ').replace(/(?<=\d)Z$/, ' UTC'),
  // 9:30pm, 9 am
  (text) =>
    text.replaceAll(/\b(\d\d?)(:\d\d)? ?([ap])\.?m\b\.?/gi, (_, hour, minutes, half) => toTime(Number(hour), minutes, half)),
  // Tues, Mondays
  (text) => text.replaceAll(/\b[a-z]{3,}\b/gi, toWeekday),
  // daily 09:00
  (text) => text.replace(/^([a-z-]+) (?=[\d*])/i, (whole, word) => dates.get(word.toLowerCase()) ?? whole),
  // Mon - Fri, Mon to Fri
  (text) => text.replaceAll(new RegExp(`${weekday} ?(?:-|–|to) ?(?=${weekday})`, 'g'), '$1..'),
  // Mon, Tue
  (text) => text.replaceAll(new RegExp(`${weekday},? (?:and )?(?=${weekday})`, 'g'), '$1,'),
  // Sat..Mon
  (text) => text.replaceAll(new RegExp(`${weekday}\\.\\.${weekday}`, 'g'), (range, from, to) => wrapWeekdays(range, from, to)),
  // */10, *:/10
  (text) => text.replaceAll(/(?<=^|[\s:-])\*?\/(?=\d)/g, (_, at: number) => `${leastAt(text, at)}/`),
  // 12:00, and *:5,,6
  (text) => text.replaceAll(/,+/g, ',').replaceAll(/(?<=^|[\s:-]),|,(?=[\s:-]|$)/g, ''),
  // *:5...10, *:5//5
  (text) => text.replaceAll(/\.{3,}/g, '..').replaceAll(/\/+(?=\d)/g, '/'),
  // *-*-~1, ~1
  (text) => text.replace(/-~/, '~').replace(/(?<=^| )~/, '*-*~'),
  // *-*~5..1, 22..6:00
  (text) => text.split(' ').map(wrap).join(' '),
  // 12:
  (text) => text.replace(/:(?= |$)/, ':00'),
  // 24:00
  (text) => text.replace(/^24:00(:00)?(?= |$)/, '00:00'),
  // 12, and Mon 9
  (text) => text.replace(/(?<=^| )(\d\d?)(?=$| [A-Z])/, (hour) => `${hour.padStart(2, '0')}:00`),
  // 12:00 *-*-1, 09:00 Mon
  (text) => text.replace(/^(\S*:\S*) (\S+(?: \S*-\S*)?)/, '$2 $1'),
]

/** Suggests a valid expression that an invalid one may have meant. Undefined if there is no suggestion. */
export function suggest(expression: string): string | undefined {
  if (expression.length > timerLimits.expressionLength) return undefined
  for (const candidate of candidates(expression)) if (isReadable(candidate)) return candidate
  return undefined
}

function* candidates(expression: string): Generator<string> {
  let text = expression
  yield* variants(text)
  for (const rewrite of rewritings) {
    const before = text
    text = rewrite(before)
    if (text === before) continue
    yield text
    yield* variants(text)
  }
}

function* variants(text: string): Generator<string> {
  if (looksLikeCron(text)) yield cronPrefix + text
  for (const variant of [withZone(text), withOffset(text)]) if (variant !== undefined) yield variant
}

function isReadable(text: string): boolean {
  try {
    if (text.startsWith(cronPrefix)) readCron(text)
    else normalize(parse(text))
    return true
  } catch {
    return false
  }
}

/** Whether a text has five or six words, and the first is minutes or seconds as in cron. */
function looksLikeCron(text: string): boolean {
  return /^[\d*,/-]+( [\dA-Z*?,/#-]+){4,5}$/i.test(text)
}

/** Every zone of the platform. The list is made on its first use. */
let zones: readonly string[] | undefined

/** Corrects the zone of `12:00 europe/oslo`, `12:00 Europe/Olso` and `12:00 Oslo`. */
function withZone(text: string): string | undefined {
  const [, before = '', word = ''] = /^(.* )([a-z]\S+)$/i.exec(text) ?? []
  if (word === '') return undefined
  zones ??= Intl.supportedValuesOf('timeZone')
  const city = word.toLowerCase()
  const zone =
    zoneName(word) ??
    zones.find((name) => name.toLowerCase().endsWith(`/${city}`)) ??
    (word.includes('/') ? likeZone(city, zones) : undefined)
  return zone === undefined ? undefined : before + zone
}

/** The zone that is meant by a misspelt one. In a known area only the city is compared: two letters of a short one make it another. */
function likeZone(lower: string, zones: readonly string[]): string | undefined {
  const area = lower.slice(0, lower.indexOf('/') + 1)
  const names = zones.filter((name) => name.toLowerCase().startsWith(area))
  if (names.length === 0) return nearest(lower, zones)
  const city = nearest(
    lower.slice(area.length),
    names.map((name) => name.slice(area.length)),
  )
  return names.find((name) => name.slice(area.length) === city)
}

/** Turns `12:00 +01:00` into a zone. The signs of the zones `Etc/GMT±n` are reversed: `Etc/GMT-1` is one hour ahead of UTC. */
function withOffset(text: string): string | undefined {
  const [, before = '', sign, hours] = /^(.*(?::\d\d| )) ?(?:UTC|GMT)?([+-])0?(\d\d?)(?::?00)?$/i.exec(text) ?? []
  return sign === undefined ? undefined : `${before.trim()} Etc/GMT${sign === '+' ? '-' : '+'}${hours}`
}

function toTime(hour: number, minutes: string | undefined, half: string): string {
  return `${String((hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0)).padStart(2, '0')}${minutes ?? ':00'}`
}

/** Shortens `Tues`, `Weds` and `Mondays` to a weekday. Any other word stays as it is. */
function toWeekday(word: string): string {
  const lower = word.toLowerCase().replace(/^weds$/, 'wed')
  const day = weekdayNames.findIndex((name) => name.startsWith(lower) || lower === `${name}s`)
  return weekdays[day] ?? word
}

/** Rewrites `Sat..Mon` as `Sat,Sun,Mon`. */
function wrapWeekdays(range: string, from: string, to: string): string {
  const [first, last] = [weekdays.indexOf(from), weekdays.indexOf(to)]
  return first <= last ? range : [...weekdays.slice(first), ...weekdays.slice(0, last + 1)].join(',')
}

/** The start of a repetition that has none: 0 in a time, 1 for a month or a day, 2000 for a year. */
function leastAt(text: string, at: number): string {
  const start = text.lastIndexOf(' ', at) + 1
  const [word = ''] = text.slice(start).split(' ', 1)
  if (word.includes(':')) return '0'
  return at === start && word.split('-').length === 3 ? '2000' : '1'
}
