/** A database or a schema that only one driver migrates. */
import { raw } from '@taskstream/task-sql'
import type { Subject } from '../subject.ts'

/** Where only this driver migrates: its schema, its file or its database. */
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
