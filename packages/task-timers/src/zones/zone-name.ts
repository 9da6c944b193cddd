/** The zones that have no region before their name: the links of the time zone database's file `backward` and its abbreviations. */
const plain = new Map(
  (
    'CET CST6CDT Cuba EET EST EST5EDT Egypt Eire GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel ' +
    'Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC ROK Singapore Turkey UCT ' +
    'UTC Universal W-SU WET Zulu'
  )
    .split(' ')
    .map((name) => [name.toLowerCase(), name]),
)

/** The words of names that are not written with one capital letter first. */
const words = new Map(
  (
    'GMT UTC UCT US IN ACT LHI NSW of es au DumontDUrville McMurdo ComodRivadavia BajaNorte BajaSur DeNoronha EasterIsland ' +
    'NZ ROK'
  )
    .split(' ')
    .map((word) => [word.toLowerCase(), word]),
)

/**
 * A zone's name as the time zone database writes it, whatever the case of `text`; undefined if the platform knows no such zone.
 * ICU, which Node.js asks, takes names in any case, and abbreviations of its own such as PST, which are no names of the database.
 */
export function zoneName(text: string): string | undefined {
  if (!/^[a-z][a-z\d_+-]*(\/[a-z\d_+-]+){0,2}$/i.test(text)) return undefined
  const lower = text.toLowerCase()
  const name = lower.includes('/')
    ? lower.replaceAll(/[a-z]+/g, (word) => words.get(word) ?? word.charAt(0).toUpperCase() + word.slice(1))
    : plain.get(lower)
  return name !== undefined && !/^SystemV\/|-New$/i.test(name) && isKnown(name) ? name : undefined
}

/** Asking ICU takes long, and there are few hundred names. */
const known = new Set<string>()

function isKnown(timeZone: string): boolean {
  if (known.has(timeZone)) return true
  try {
    Intl.DateTimeFormat('en-US', { timeZone })
    known.add(timeZone)
    return true
  } catch {
    return false
  }
}
