/** The English of several countries: ICU abbreviates the name of a zone only for countries that use the abbreviation. */
const locales = ['en-US', 'en-GB', 'en-AU', 'en-NZ', 'en-IN', 'en-ZA'] as const

const formats = new Map<string, readonly Intl.DateTimeFormat[]>()

/** The usual abbreviation for the local time of a zone at an instant, such as `CEST`; `GMT+3` if ICU knows none. */
export function abbreviationAt(zone: string, instant: number): string {
  let known = formats.get(zone)
  if (!known) {
    known = locales.map((locale) => new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'short' }))
    formats.set(zone, known)
  }
  const names = known.map((format) => format.formatToParts(instant).find(({ type }) => type === 'timeZoneName')?.value ?? '')
  return names.find((name) => !/[+-]/.test(name)) ?? names[0] ?? ''
}
