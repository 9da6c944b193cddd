/** In a database of somebody else the command line says that its tables are not there, and writes nothing. */
import { readFileSync } from 'node:fs'
import type { Row } from '@taskstream/task-sql'
import { raw } from '@taskstream/task-sql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase } from '../databases/beside.ts'
import type { DatabaseBeside } from '../databases/beside.ts'
import { canRun, isPostgres, openSubject, reopenSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'
import { run, urlOf } from './command-line.ts'

/** What would look at our tables, or write to them. */
const commands: readonly (readonly string[])[] = [
  ['attention'],
  ['topics'],
  ['changes'],
  ['audit'],
  ['errors'],
  ['nodes'],
  ['next'],
  ['push', 'a', 'x', '--initialize'],
  ['import', 'bullmq', 'a', '--from', 'redis://127.0.0.1:1', '--initialize', '--yes'],
  ['topic', 'create', 'a'],
  ['repair'],
  ['node', 'quiet', 'x'],
  ['periodic', 'add', 'x', 'daily', 'a'],
  ['undo', '5e1c0a9b7f21'],
  ['work', 'a', '--exec', 'true', '--until-empty', '--initialize'],
]

describe.skipIf(!canRun)('in a database of somebody else', () => {
  let subject: Subject
  beforeAll(async () => void (subject = await openSubject()))
  afterAll(() => subject[Symbol.asyncDispose]())

  /** What the database has, and on SQLite each byte of its file. */
  const contentOf = async ({ location }: DatabaseBeside, table: string): Promise<unknown> => {
    await using there = await reopenSubject(location)
    const ask = (text: string): Promise<readonly Row[]> =>
      there.transactions<readonly Row[]>((transaction) => there.execute(transaction, raw(text)))
    const tables = 'select table_schema as s, table_name as n from information_schema.tables where table_schema'
    const own = isPostgres ? `${tables} not in ('pg_catalog', 'information_schema')` : `${tables} = database()`
    const names = await ask(subject.engine === 'sqlite' ? 'select name as n from sqlite_master' : `${own} order by 1, 2`)
    return [names, await ask(`select * from ${table}`)]
  }
  const made = async (database: DatabaseBeside, ...statements: readonly string[]): Promise<void> => {
    if (subject.engine === 'sqlite') {
      // As another program makes it, without a write-ahead log.
      const { DatabaseSync } = await import('node:sqlite')
      const file = new DatabaseSync(database.location.at)
      for (const statement of statements) file.exec(statement)
      return file.close()
    }
    await using there = await reopenSubject(database.location)
    await there.transactions(async (transaction) => {
      for (const statement of statements) await there.execute(transaction, raw(statement))
    })
  }
  const bytesOf = ({ location }: DatabaseBeside): string | undefined =>
    subject.engine === 'sqlite' ? readFileSync(location.at, 'base64') : undefined

  test.each([
    ['no table of ours', 'invoice'],
    ['a table of the name of one of ours', isPostgres ? 'taskstream.task' : 'task'],
  ])('that has %s, every command says so, and writes nothing', async (_, table) => {
    await using database = await createDatabase(subject)
    const schema = table.includes('.') ? ['create schema taskstream'] : []
    await made(database, ...schema, `create table ${table} (id integer)`, `insert into ${table} values (4711)`)
    const url = urlOf({ engine: subject.engine, location: database.location })
    const bytes = bytesOf(database)
    const before = bytes ?? (await contentOf(database, table))

    const doctor = await run(['doctor', '--url', url])
    expect([doctor.code, doctor.err]).toEqual([4, ''])
    expect(doctor.out).toMatch(/^check .*\nschema +crit +the tables are missing/)
    expect(doctor.out).toMatch(/\ncrit schema: the tables are missing.*\n {2}taskstream migrate up\n/)
    for (const command of commands) {
      const { code, out, err } = await run([...command, '--url', url])
      expect([command, code, out, err]).toEqual([
        command,
        5,
        '',
        expect.stringMatching(
          /^error: The tables of taskstream are not in .*\. Run: taskstream migrate up \(SCHEMA_MISSING\)\n$/,
        ),
      ])
    }
    expect(await run(['migrate', 'status', '--url', url])).toMatchObject({ code: 4, out: expect.stringMatching(/^tables: none/) })
    if (table !== 'invoice')
      expect(await run(['migrate', 'up', '--url', url])).toMatchObject({
        code: 5,
        out: '',
        err: expect.stringMatching(
          /has a table task that is not of taskstream, and nothing was written: give taskstream a database/,
        ),
      })
    expect(bytes === undefined ? await contentOf(database, table) : bytesOf(database)).toEqual(before)
  })

  test('that has no table of ours, tables are made beside those that are there', async () => {
    await using database = await createDatabase(subject)
    await made(database, 'create table invoice (id integer)', 'insert into invoice values (4711)')
    const url = urlOf({ engine: subject.engine, location: database.location })
    expect(await run(['migrate', 'up', '--url', url])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^from version 0 to /),
    })
    expect(await run(['count', '--url', url])).toMatchObject({ code: 0, err: '' })
    expect(await contentOf(database, 'invoice')).toEqual([expect.anything(), [{ id: 4711 }]])
  })
})
