/** Keeps secrets out of what is shown. A payload belongs to somebody else, and operators need its form more than its values. */

/** What stands for a secret. */
const masked = '•••'

/** Names of fields whose values are not shown, at any depth. */
const secretName =
  /secret|token|passw|pwd|passphrase|credential|authori[sz]ation|cookie|session|api[-_ ]?key|private[-_ ]?key|access[-_ ]?key|signing[-_ ]?key|jwt|cvv|cvc|iban|ssn/i
/** Names that mean a secret only as words of their own: `cardNumber`, and not `cardinality`. */
const secretWord = /(?:^|[-_ ])(?:card|pass|pin|otp)(?:$|[-_ ])/

/** How a text says that something has a value. Values may stand below each other in a column. */
const sign = String.raw`["']?[ \t]{0,40}(?:=>|[=:])\s{0,40}`
/** A value in quotes may have escaped ones in it, and may have lost its end. */
const value = String.raw`"(?:[^"\\]|\\[\s\S])*"?|'(?:[^'\\]|\\[\s\S])*'?|\[[^\]\r\n]*\]?|\{[^}\r\n]*\}?|[^\s&,;"']+`
/**
 * The name of a secret. It is looked for from the beginning of each word only, as names may be long. With it goes what stands before it and behind it, as in
 * `client_secret_value` and `secretAccessKey`.
 */
const name = String.raw`(?<![\w-])(?:[\w-]*?(?:secret|token|passw(?:or)?d|pwd|passphrase|credentials?|api[-_]?key|private[-_]?key|access[-_]?key|signing[-_]?key|jwt|cvv|cvc|iban|ssn)[\w-]{0,20}|(?:[\w-]*?[-_])?(?:card|session|sid|pin|otp|pass)(?:[-_]?(?:number|no|id))?)`
/** A name and its value in a text that is not JSON: a message, a header or a query. */
const secretInText = new RegExp(`(${name})(${sign})(?:${value})`, 'gi')

/** Headers whose value has several parts. Of a line nothing is shown behind them, as nobody can say where the secret ends. */
const secretHeader = new RegExp(String.raw`((?:proxy-)?authori[sz]ation|(?:set-)?cookie)(${sign})[^\r\n]+`, 'gi')

/** A token without a name. */
const bearer = /\b(Bearer )[\w.~+/=-]+/g

/** What may be the number of a card. */
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
    .replace(cardNumber, (digits) => (isCard(digits) ? masked : digits))
}

/** `InvalidToken: unexpected end` and `TokenExpired: an hour ago` have names of errors, and no token. */
function isErrorName(name: string, sign: string): boolean {
  return sign.startsWith(':') && (errorPrefix.test(name) || errorEnd.test(name))
}

const errorPrefix = /^(?:Invalid|Missing|Expired|Unknown|Bad|Unexpected|Wrong|Malformed|Revoked)[A-Z]/
const errorEnd =
  /^[A-Z].*(?:Error|Exception|Expired|Invalid|Missing|Mismatch|Rejected|Required|Denied|Declined|NotFound|Failed|Revoked)$/

/** Whether digits may be those of a card: the last one checks the others (Luhn, ISO/IEC 7812-1). */
function isCard(text: string): boolean {
  let sum = 0
  const digits = text.replaceAll(/\D/g, '')
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits.at(-1 - index))
    const doubled = index % 2 === 0 ? digit : digit * 2
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

function isSecret(name: string): boolean {
  return secretName.test(name) || secretWord.test(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2').toLowerCase())
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
    Object.entries(value).map(([name, each]) => [name, isSecret(name) && each !== null ? masked : maskValue(each, depth + 1)]),
  )
}
