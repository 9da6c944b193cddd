/** What a database is called in messages: never by its password. */
import { visible } from '../output/visible.ts'
import type { Location } from './location.ts'

/** `shop@db-1/orders`, or the file of SQLite. */
export function placeOf(location: Location): string {
  if (location.engine === 'sqlite') return visible(location.path, 200)
  const { username, host, pathname, searchParams } = new URL(location.url.replace('@/', '@localhost/'))
  const socket = searchParams.get('host')
  const user = decodeURIComponent(username)
  const named = `${user === '' ? '' : `${user}@`}${socket ?? host}${decodeURIComponent(pathname)}`
  return visible(named, 200)
}
