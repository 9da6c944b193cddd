/** A database, file or schema that only the driver's tests migrate. */
import { raw } from '@taskstream/task-sql'
import type { Subject } from '../subject.ts'

/**
 * Returns the file or the URL of a database where only this driver's tests migrate. On PostgreSQL its tests have a schema of
 * their own.
 */
export async function placeOf({ engine, connections, location, owner: { at }, execute, transactions }: Subject): Promise<string> {
  if (engine === 'sqlite' && connections > 1) return `${at}.driver`
  if (engine !== 'mariadb') return at
  const url = new URL(at)
  url.pathname = `${url.pathname}_driver`
  const run = (text: string): Promise<unknown> => transactions((transaction) => execute(transaction, raw(text)))
  const name = url.pathname.slice(1)
  await run(`create database ${name}`)
  if (at !== location.at) await run(`grant all on ${name}.* to ${url.username}@'127.0.0.1'`)
  return url.href
}
