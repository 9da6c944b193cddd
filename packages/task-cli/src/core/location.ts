/** Reads the address of a database. */
import { fileURLToPath } from 'node:url'
import { cutText, TaskError } from '@taskstream/task-api'

export type Location =
  | { readonly engine: 'postgres' | 'mariadb' | 'mysql'; readonly url: string }
  | { readonly engine: 'sqlite'; readonly path: string }

const engines: Readonly<Record<string, Exclude<Location['engine'], 'sqlite'>>> = {
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
  'mariadb:': 'mariadb',
  'mysql:': 'mysql',
}

/**
 * Reads the engine and the place of a database from its address. A path alone is refused, because it may be a misspelt address, and `migrate up`
 * would make a file of that name.
 *
 * @param from what names the address, for messages
 * @throws TaskError ARGUMENT_INVALID, without the address, which may hold a password
 */
export function toLocation(url: string, from: string = '--url'): Location {
  if (url === '') throw refused(`${from} is empty: ${forms}`)
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]+:)/i.exec(url) ?? []
  if (scheme === 'sqlite:' || scheme === 'file:') return { engine: 'sqlite', path: toPath(url, scheme, from) }
  const engine = engines[scheme]
  if (engine !== undefined) return { engine, url: checkAddress(url, scheme, from) }
  if (scheme !== '') throw refused(`No engine for ${cutText(scheme.slice(0, -1), 58)}: ${forms}`)
  if (url === 'sqlite' || `${url}:` in engines) throw refused(`${url} is no address: ${forms}`)
  // A text with an @ may be an address without its beginning, and hold a password. So it is not quoted.
  throw refused(
    `${from} names no engine: ${forms}${mayHavePassword(url) ? '' : `; for a file of SQLite that is sqlite:${cutText(url, 200)}`}`,
  )
}

const forms = 'give postgres://…, mariadb://…, mysql://… or sqlite:<file>'

/** Refuses addresses that a driver would misread: a bare # in the password, for example, leads to another host. */
function checkAddress(url: string, scheme: string, from: string): string {
  if (!url.startsWith(`${scheme}//`)) throw refused(`${from} is no address: it begins with ${scheme}//`)
  const unreadable = refused(
    `${from} cannot be read: in names and passwords write %40 for @, %23 for #, %25 for %, %2F for /, %3A for : and %3F for ?`,
  )
  let parsed
  try {
    // The host may be missing, if the query names a socket instead.
    parsed = new URL(url.replace('@/', '@localhost/'))
    for (const part of [parsed.username, parsed.password, parsed.pathname]) decodeURIComponent(part)
  } catch {
    throw unreadable
  }
  if (parsed.hash !== '' || parsed.pathname.includes('@')) throw unreadable
  return url
}

function toPath(url: string, scheme: string, from: string): string {
  const path =
    scheme === 'file:' && url.startsWith('file://') ? fromFileUrl(url, from) : url.replace(/^(sqlite|file):(\/\/)?/, '')
  if (path === '') throw refused(`Which file? Give ${scheme}<file>`)
  if (path === ':memory:') throw refused(':memory: is gone when the command ends: give sqlite:<file>')
  const query = path.indexOf('?')
  if (query >= 0) throw refused(`A file of SQLite takes no parameters: leave out ${quoted(path.slice(query))}`)
  return path
}

function quoted(query: string): string {
  return mayHavePassword(query) ? 'the ? and all that follows' : cutText(query, 58)
}

function mayHavePassword(text: string): boolean {
  return /@|pass|pwd/i.test(text)
}

function fromFileUrl(url: string, from: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    throw refused(`${from} is no file of this machine: give file:///<folder>/<file>`)
  }
}

function refused(message: string): TaskError {
  return new TaskError('ARGUMENT_INVALID', message, { argument: 'url' })
}
