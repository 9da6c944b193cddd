/** A database without tables, beside that of a subject. */
import { randomBytes } from 'node:crypto'
import { raw } from '@taskstream/task-sql'
import type { Subject } from '../subject.ts'
import { administratorOf } from './least-privilege.ts'

export interface DatabaseBeside extends AsyncDisposable {
  readonly location: Subject['location']
}

/** Creates a database without tables. On SQLite that is only the name of a file, which goes with the folder of the subject. */
export async function createDatabase(subject: Subject): Promise<DatabaseBeside> {
  const { location } = subject
  const name = `taskstream_test_${randomBytes(6).toString('hex')}`
  if (subject.engine === 'sqlite')
    return { location: { ...location, at: `${location.at}.${name}` }, [Symbol.asyncDispose]: async () => {} }
  const { transaction } = await subject.session()
  await subject.execute(transaction, raw(`create database ${name}`))
  const url = new URL(administratorOf(location.at))
  url.pathname = `/${name}`
  const forced = subject.engine === 'postgres' ? ' with (force)' : ''
  return {
    location: { ...location, at: url.href },
    [Symbol.asyncDispose]: async () => void (await subject.execute(transaction, raw(`drop database ${name}${forced}`))),
  }
}
