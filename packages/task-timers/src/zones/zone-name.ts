/** The zones without a region before their name: abbreviations, and links of the file `backward` of the time zone database. */
const plain = new Map(
  (
    'CET CST6CDT Cuba EET EST EST5EDT Egypt Eire GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel ' +
    'Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC ROK Singapore Turkey UCT ' +
    'UTC Universal W-SU WET Zulu'
  )
    .split(' ')
    .map((name) => [name.toLowerCase(), name]),
)

/** The words of zone names that are not spelled with one capital letter first. */
const words = new Map(
  (
    'GMT UTC UCT US IN ACT LHI NSW of es au DumontDUrville McMurdo ComodRivadavia BajaNorte BajaSur DeNoronha EasterIsland ' +
    'NZ ROK'
  )
    .split(' ')
    .map((word) => [word.toLowerCase(), word]),
)

/**
 * The name of a zone as the time zone database spells it, for a name in upper or lower case. Undefined if the platform knows no such zone.
 * Node.js uses ICU, which accepts names in any case, and also abbreviations of its own, such as PST, that the database does not have.
 */
export function zoneName(text: string): string | undefined {
  if (!/^[a-z][a-z\d_+-]*(\/[a-z\d_+-]+){0,2}$/i.test(text)) return undefined
  const lower = text.toLowerCase()
  const name = lower.includes('/')
    ? lower.replaceAll(/[a-z]+/g, (word) => words.get(word) ?? word.charAt(0).toUpperCase() + word.slice(1))
    : plain.get(lower)
  return name !== undefined && !/^SystemV\/|-New$/i.test(name) && isKnown(name) ? name : undefined
}

/** The names that ICU has confirmed: asking ICU is slow, and there are only a few hundred names. */
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
