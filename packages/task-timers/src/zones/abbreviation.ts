/** English as these countries speak it: ICU abbreviates a zone's name only where people know it by that. */
const locales = ['en-US', 'en-GB', 'en-AU', 'en-NZ', 'en-IN', 'en-ZA'] as const

const formats = new Map<string, readonly Intl.DateTimeFormat[]>()

/** What people call the clocks of a zone at an instant, such as `CEST`; `GMT+3` where ICU knows nothing shorter. */
export function abbreviationAt(zone: string, instant: number): string {
  let known = formats.get(zone)
  if (!known) {
    known = locales.map((locale) => new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'short' }))
    formats.set(zone, known)
  }
  const names = known.map((format) => format.formatToParts(instant).find(({ type }) => type === 'timeZoneName')?.value ?? '')
  return names.find((name) => !/[+-]/.test(name)) ?? names[0] ?? ''
}
