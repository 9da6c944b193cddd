import { raw } from '@taskstream/task-sql'
import type { Subject } from '../subject.ts'

/** Where only this driver migrates: its schema, its file or its database. */
export async function placeOf({ engine, connections, location: { at }, execute, transactions }: Subject): Promise<string> {
  if (engine === 'sqlite' && connections > 1) return `${at}.driver`
  if (engine !== 'mariadb') return at
  const url = new URL(at)
  url.pathname = `${url.pathname}_driver`
  await transactions((transaction) => execute(transaction, raw(`create database ${url.pathname.slice(1)}`)))
  return url.href
}
