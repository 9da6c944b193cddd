/** Keeps passwords out of the output: drivers and the parser of the command line quote the address in their errors. */

const hidden = '***'

/** Of an address with more @ than this, only so many beginnings are hidden as a whole. Their parts are hidden all the same. */
const mostEnds = 20

/** Addresses from files and other variables. */
const noted = new Set<string>()

/** Has the passwords of an address hidden from now on. @returns what ends that */
export function noteSecretsOf(address: string): () => void {
  noted.add(address)
  return () => void noted.delete(address)
}

/** Replaces the passwords of the addresses in the arguments, in TASKSTREAM_URL and in files by `***`. */
export function withoutSecrets(text: string): string {
  const given = [process.env['TASKSTREAM_URL'] ?? '', ...process.argv.slice(2)].map((each) => each.replace(/^--url=/, ''))
  const addresses = [...new Set([...given, ...noted])]
  const secrets = addresses.flatMap(secretsOf).toSorted((left, right) => right.length - left.length)
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, hidden), text)
}

/** Every text that may be the password of an address. If the address cannot be read, that is any part before an @. */
function secretsOf(address: string): string[] {
  // An address from a file often ends in a line end, and a password may have one.
  const [, name = '', rest = ''] = /^[a-z][a-z0-9+.-]*:\/*([^:@/]*):(.*)$/is.exec(address) ?? []
  const ats = [...rest.matchAll(/@/g)].map(({ index }) => index)
  const ends = ats.slice(-mostEnds).map((index) => rest.slice(0, index))
  const parts = new Set(ends.at(-1)?.split(/[/?#@%:]/))
  const inQuery = [...address.matchAll(/[?&]password=([^&#]*)/gi)].map(([, password = '']) => password)
  // A password that equals the user's name stays: hiding it would make the server's answer unreadable, and the name is not secret.
  return [...ends, ...parts, ...inQuery]
    .flatMap((secret) => [secret, decoded(secret)])
    .filter((secret) => secret.length > 2 && secret !== name)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
