/** How somebody likes the pages: kept in a cookie, as nobody has an account here. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { parse, serialize } from 'hono/utils/cookie'
import * as z from 'zod'

type Theme = 'system' | 'light' | 'dark'
export const themes: readonly ['system', 'light', 'dark'] = ['system', 'light', 'dark']
type TimeStyle = 'ago' | 'utc' | 'local'
export const timeStyles: readonly ['ago', 'utc', 'local'] = ['ago', 'utc', 'local']

const zone = z.string().max(60).refine(isZone, 'it must be a time zone, such as Europe/Oslo')
type Choice<Value extends string> = z.ZodDefault<z.ZodEnum<{ [Each in Value]: Each }>>
export const preferenceFields: z.ZodObject<{ theme: Choice<Theme>; times: Choice<TimeStyle>; zone: z.ZodOptional<z.ZodString> }> =
  z.object({
    theme: z.enum(themes).default('system'),
    times: z.enum(timeStyles).default('ago'),
    /** Where `local` is. Default: where the server is, which is on the same machine for `taskstream console`. */
    zone: zone.optional(),
  })
export type Preferences = z.output<typeof preferenceFields>

const name = 'taskstream-pages'
const yearSeconds = 31_536_000

/** Of a cookie that says nothing sensible nothing is taken. */
export function preferencesIn(cookies: string | undefined): Preferences {
  const [theme, times, place] = (parse(cookies ?? '', name)[name] ?? '').split('~')
  const read = preferenceFields.safeParse({ theme, times, ...(place && { zone: place }) })
  return read.success ? read.data : preferenceFields.parse({})
}

/** The header that keeps them. Without a path, a cookie is for the folder of the page that sets it: the console, wherever it is mounted. */
export function preferenceCookie({ theme, times, zone: place = '' }: Preferences): string {
  return serialize(name, [theme, times, place].join('~'), { httpOnly: true, sameSite: 'Strict', maxAge: yearSeconds })
}

/** Which zone `local` means. */
export function zoneOf({ zone: place }: Pick<Preferences, 'zone'>): string {
  return place ?? Intl.DateTimeFormat().resolvedOptions().timeZone
}

// Every cell of every table may have a time, and what it looks like concerns none of them.
const current = new AsyncLocalStorage<Preferences>()

/** Makes a page for somebody who likes it so. */
export function preferring<Result>(preferences: Preferences, work: () => Promise<Result>): Promise<Result> {
  return current.run(preferences, work)
}

/** An instant as it is preferred; undefined if it is preferred as how long ago it was. */
export function preferredInstant(at: Date): string | undefined {
  const preferences = current.getStore()
  if (!preferences || preferences.times === 'ago') return undefined
  return instantIn(preferences.times === 'utc' ? 'UTC' : zoneOf(preferences), at)
}

const mostFormats = 500
const formats = new Map<string, Intl.DateTimeFormat>()

function instantIn(place: string, at: Date): string {
  const format = formats.get(place) ?? formatOf(place)
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
  return `${parts['year']}-${parts['month']}-${parts['day']} ${parts['hour']}:${parts['minute']}:${parts['second']} ${parts['timeZoneName']}`
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const two = '2-digit'
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    year: 'numeric',
    month: two,
    day: two,
    hour: two,
    minute: two,
    second: two,
    hourCycle: 'h23',
    timeZoneName: 'short',
  })
  // Of a zone there are many spellings.
  if (formats.size >= mostFormats) formats.clear()
  formats.set(timeZone, format)
  return format
}

function isZone(text: string): boolean {
  try {
    formatOf(text)
    return true
  } catch {
    return false
  }
}
