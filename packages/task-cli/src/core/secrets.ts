/** Keeps passwords out of what is printed: drivers and the parser of the command line quote what they were given. */

const hidden = '***'

/** `text` without the passwords of the addresses that this process was started with. */
export function withoutSecrets(text: string): string {
  const addresses = [process.env['TASKSTREAM_URL'] ?? '', ...process.argv.slice(2)].map((given) => given.replace(/^--url=/, ''))
  const secrets = addresses.flatMap(secretsOf).toSorted((left, right) => right.length - left.length)
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, hidden), text)
}

/** However an address is taken apart: one that cannot be read may have its password anywhere before an @. */
function secretsOf(address: string): string[] {
  const [, name = '', rest = ''] = /^[a-z][a-z0-9+.-]*:\/*([^:@/]*):(.*)$/i.exec(address) ?? []
  const ends = [...rest.matchAll(/@/g)].map(({ index }) => rest.slice(0, index))
  const parts = ends.flatMap((end) => end.split(/[/?#@%:]/))
  const inQuery = [...address.matchAll(/[?&]password=([^&#]*)/gi)].map(([, password = '']) => password)
  // Where it is the user's name too, the server's answer would be made unreadable, and hide nothing.
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
