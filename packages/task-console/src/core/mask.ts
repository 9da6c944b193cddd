/** Keeps secrets out of what is shown. A payload belongs to somebody else, and operators need its form more than its values. */

/** What stands for a secret. */
const masked = '•••'

/** Names of fields whose values are not shown, at any depth. */
const secretName =
  /secret|token|passw|pwd|passphrase|credential|authori[sz]ation|cookie|session|api[-_ ]?key|private[-_ ]?key|card|cvv|cvc|iban|pin$|ssn/i

/** How a text says that something has a value. */
const sign = String.raw`["']?\s{0,3}(?:=>|[=:])\s{0,3}`
/** A value in quotes may have escaped ones in it, and may have lost its end. */
const value = String.raw`"(?:[^"\\]|\\[\s\S])*"?|'(?:[^'\\]|\\[\s\S])*'?|\[[^\]\r\n]*\]?|[^\s&,;"']+`
/** The name of a secret. It is looked for from the beginning of each word only, as names may be long. With it goes what stands before it and behind it, as in `client_secret_value`. */
const name = String.raw`(?<![\w-])(?:[\w-]*?(?:secret|token|passw(?:or)?d|pwd|passphrase|credentials?|api[-_]?key|private[-_]?key|cvv|cvc|iban|ssn)(?:[-_][\w-]{0,20})?|(?:[\w-]*?[-_])?(?:card|session|sid|pin)(?:[-_]?(?:number|no|id))?)`
/** A name and its value in a text that is not JSON: a message, a header or a query. */
const secretInText = new RegExp(`(${name})(${sign})(?:${value})`, 'gi')

/** Headers whose value has several parts. Of a line nothing is shown behind them, as nobody can say where the secret ends. */
const secretHeader = new RegExp(String.raw`((?:proxy-)?authori[sz]ation|(?:set-)?cookie)(${sign})[^\r\n]+`, 'gi')

/** A token without a name. */
const bearer = /\b(Bearer )[\w.~+/=-]+/g

/** The number of a card. */
const cardNumber = /\b\d(?:[ -]?\d){12,18}\b/g

/** The password of an address. */
const secretInAddress = /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/]{0,200}:)[^\s@/]{1,500}(?=@)/gi

/** A longer text is not read, so that none costs more than a few milliseconds. */
const mostRead = 1_048_576
/** How much is shown. */
const mostShown = 65_536
const mostDepth = 40

/** A payload as it may be shown. */
export interface Shown {
  readonly text: string
  /** How many characters there are. */
  readonly length: number
  /** Whether something is left out at the end. */
  readonly cut: boolean
}

/** Masks a text: its fields if it is JSON, otherwise what looks like a name and a secret. Of a text that is too long to be read nothing is shown. */
export function maskText(text: string): Shown {
  const { length } = text
  if (length > mostRead) return { text: '', length, cut: true }
  const shown = maskAny(text, 0)
  return { text: shown.slice(0, mostShown).toWellFormed(), length, cut: shown.length > mostShown }
}

/** Masks a message, such as an error with its stack. */
export function maskMessage(text: string): string {
  return text
    .replace(secretHeader, `$1$2${masked}`)
    .replace(bearer, `$1${masked}`)
    .replace(secretInText, (whole, name: string, sign: string) => (isErrorName(name, sign) ? whole : `${name}${sign}${masked}`))
    .replace(secretInAddress, `$1${masked}`)
    .replace(cardNumber, masked)
}

/** `InvalidToken: unexpected end` has the name of an error, and no token. */
function isErrorName(name: string, sign: string): boolean {
  return sign.startsWith(':') && /^[A-Z][a-z]+[A-Z]/.test(name)
}

function maskAny(text: string, depth: number): string {
  if (/^\s*[{["]/.test(text) && depth < mostDepth) {
    try {
      return JSON.stringify(maskValue(JSON.parse(text), depth))
    } catch {
      // It only begins like JSON.
    }
  }
  return maskMessage(text)
}

function maskValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return maskAny(value, depth + 1)
  if (typeof value !== 'object' || value === null) return value
  if (depth > mostDepth) return masked
  if (Array.isArray(value)) return value.map((each) => maskValue(each, depth + 1))
  // Entries, so that a field of the name __proto__ is one like any other.
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      secretName.test(name) && each !== null ? masked : maskValue(each, depth + 1),
    ]),
  )
}
