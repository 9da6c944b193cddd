/** What is ours between the dialect and `oracledb`: how errors are named, and what a transaction source does when something fails. */
import { TaskError } from '@taskstream/task-api'
import { raw, sql, sqlTaskRepository } from '@taskstream/task-sql'
import { fromOracledb, oracle, oracledbTransactions } from '@taskstream/task-sql/oracledb'
import type { OracledbPoolConnection } from '@taskstream/task-sql/oracledb'
import oracledb from 'oracledb'
import { expect, test } from 'vitest'
import { freePort } from '../databases/throw-away.ts'
import { Recording } from '../oracle/recording.ts'

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: no`), { code })
}

test.each([
  ['TRANSACTION_CONFLICT', ['ORA-00060', 'ORA-08177']],
  ['DATABASE_BUSY', ['ORA-00054', 'ORA-02049', 'ORA-04021', 'ORA-30006']],
  ['DATABASE_READ_ONLY', ['ORA-01456', 'ORA-16000']],
  ['SCHEMA_MISSING', ['ORA-00942', 'ORA-02289']],
  ['SCHEMA_OLDER', ['ORA-00904']],
  ['ARGUMENT_INVALID', ['ORA-01400', 'ORA-01438', 'ORA-12899', 'ORA-40478']],
  ['TRANSACTION_CLOSED', ['NJS-003', 'NJS-065', 'DPI-1010']],
  [
    'DATABASE_UNAVAILABLE',
    [
      'ORA-03113',
      'ORA-03114',
      'ORA-03135',
      'ORA-12170',
      'ORA-12541',
      'ORA-25408',
      'NJS-500',
      'NJS-501',
      'NJS-503',
      'NJS-511',
      'DPI-1080',
    ],
  ],
])('%s is what %s say', (code, codes) => {
  const { classify } = oracle()
  for (const one of codes) {
    expect(classify(failure(one))?.code).toBe(code)
    expect(classify(new Error('wrapped', { cause: failure(one) }))?.code).toBe(code)
  }
})

test('other errors keep their own name', () => {
  for (const error of [
    failure('ORA-00001'),
    failure('ORA-00936'),
    new Error('no'),
    'ORA-00060',
    new TaskError('LIFECYCLE', 'no'),
  ])
    expect(oracle().classify(error)).toBeUndefined()
})

test('a schema whose name could be taken for SQL is refused', () => {
  for (const schema of ['', 'a;b', 'a"b', "a'b", 'a b', '1a', 'x'.repeat(31)])
    expect(() => oracle({ schema })).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
})

test('rows come by names in lower case, and what is no select tells how many rows it touched', async () => {
  const recording = new Recording()
  recording.scene = { row: { identifier: 'a', input: null }, rows: [[/from task t/, 1]] }
  const { execute } = fromOracledb(oracledb)
  expect(await execute(recording, sql`select t.identifier, t.input from task t where t.topic = ${'mail'}`)).toEqual([
    { identifier: 'a', input: null },
  ])
  expect(await execute(recording, { ...raw('select t.identifier from task t for update skip locked'), fetch: 5 })).toEqual([
    { identifier: 'a' },
  ])
  expect(await execute(recording, sql`delete from task t where t.topic = ${'mail'}`)).toEqual([{ affectedRows: 1 }])
  const long = '漢'.repeat(1_334)
  await execute(recording, sql`select t.topic from task t where t.input in (${long}, ${long.slice(1)})`)
  expect(recording.statements.at(-1)?.binds).toEqual([{ type: oracledb.DB_TYPE_CLOB, val: long }, long.slice(1)])
})

test.each([
  [{ charset: 'WE8MSWIN1252' }, /character set is WE8MSWIN1252/],
  [{ comparison: 'LINGUISTIC', sort: 'BINARY_CI' }, /compares text by NLS_COMP LINGUISTIC with NLS_SORT BINARY_CI/],
])('a database or session that tells texts apart in another way is refused: %o', async (row, message) => {
  const recording = new Recording()
  recording.scene = { row }
  const tasks = sqlTaskRepository({ dialect: oracle(), adapter: fromOracledb(oracledb) })
  const registered = tasks.register(recording)
  await expect(registered).rejects.toMatchObject({ code: 'RUNTIME_UNSUPPORTED' })
  await expect(registered).rejects.toThrow(message)
})

test('a plan is a script, in which a slash runs each statement and each block', async () => {
  const recording = new Recording()
  recording.scene = { row: { found: 0 } }
  const tasks = sqlTaskRepository({ dialect: oracle({ schema: 'tasks' }), adapter: fromOracledb(oracledb) })
  const { from, to, text } = await tasks.plan(async (work) => work(recording))
  expect([from, to]).toEqual([0, 6])
  const parts = text.split('\n/\n')
  expect(parts[0]).toMatch(/^begin\s+execute immediate 'create table tasks\.task_migration \([^]*end;$/)
  expect(parts.at(-2)?.trim()).toBe('commit')
  expect(parts.at(-1)?.trim()).toBe('')
  // To SQL*Plus an empty line ends a statement.
  expect(parts.filter((part) => /\n\s*\n/.test(part.trim()))).toEqual([])
  // Looking at the tables is all that was done.
  expect(recording.statements.map(({ text: statement }) => statement.trim().split(/\s/)[0])).toEqual(['select'])
})

test('a server that cannot be reached is named, and a pool that was closed, as the driver itself says it', async () => {
  const connectString = `127.0.0.1:${await freePort()}/none`
  const pool = await oracledb.createPool({ user: 'u', password: 'p', connectString, poolMin: 0, poolMax: 3 })
  const transactions = oracledbTransactions(pool)
  expect(transactions.connections).toBe(3)
  await expect(transactions(() => {})).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  await pool.close(0)
  await expect(transactions(() => {})).rejects.toMatchObject({ code: 'TRANSACTION_CLOSED' })
})

/** A pool that does as it is told, and writes down what it was asked. */
function openPool(fails: Readonly<Record<string, readonly (string | undefined)[]>> = {}) {
  const asked: string[] = []
  const left = new Map(Object.entries(fails).map(([name, codes]) => [name, [...codes]]))
  // oxlint-disable-next-line require-await -- what is waited for is a database's
  const ask = async (name: string, note = name): Promise<void> => {
    asked.push(note)
    const code = left.get(name)?.shift()
    if (code) throw failure(code)
  }
  const connection: OracledbPoolConnection = {
    execute: async () => (await ask('execute'), {}),
    commit: () => ask('commit'),
    rollback: () => ask('rollback'),
    close: ({ drop }) => ask('close', drop ? 'drop' : 'close'),
  }
  const pool = { poolMax: 7, getConnection: async () => (await ask('connect'), connection) }
  const transactions = oracledbTransactions(pool)
  const run = (): Promise<unknown> => transactions(async (one) => void (await one.execute('', [], {})))
  return { asked, transactions, run }
}

test('a transaction is committed, and its connection goes back', async () => {
  const { asked, run, transactions } = openPool()
  await run()
  expect(asked).toEqual(['connect', 'execute', 'commit', 'close'])
  expect(transactions.connections).toBe(7)
})

test('after a deadlock the whole transaction is run again', async () => {
  const { asked, run } = openPool({ execute: ['ORA-00060'] })
  await run()
  expect(asked).toEqual(['connect', 'execute', 'rollback', 'close', 'connect', 'execute', 'commit', 'close'])
})

test('so is one whose connection was lost before its commit was sent, on another connection', async () => {
  const { asked, run } = openPool({ execute: ['NJS-500'], rollback: ['NJS-500'] })
  await run()
  expect(asked).toEqual(['connect', 'execute', 'rollback', 'drop', 'connect', 'execute', 'commit', 'close'])
})

test('a commit that was not answered is not repeated', async () => {
  const { asked, run } = openPool({ commit: ['NJS-500'], rollback: ['NJS-500'] })
  await expect(run()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  expect(asked).toEqual(['connect', 'execute', 'commit', 'rollback', 'drop'])
})

test("the work's own error is thrown as it is, after a rollback", async () => {
  const { asked, transactions } = openPool()
  const error = new Error('mine')
  await expect(transactions(() => Promise.reject(error))).rejects.toBe(error)
  expect(asked).toEqual(['connect', 'rollback', 'close'])
})

test('what the work throws is known for the word of its database, and for a connection that was lost', async () => {
  const { transactions } = openPool()
  const { classify } = transactions
  expect(classify?.(failure('ORA-01013'))).toMatchObject({ code: 'DATABASE_BUSY', data: { shortOf: 'time' } })
  for (const other of [failure('NJS-511'), failure('NJS-040'), new Error('mine')]) expect(classify?.(other)).toBeUndefined()
  const own = new Error('mine')
  const retries = { execute: Array.from({ length: 4 }, () => 'NJS-500'), rollback: Array.from({ length: 4 }, () => 'NJS-500') }
  const lost = openPool(retries).transactions
  await expect(lost((one) => one.execute('', [], {}).catch(() => Promise.reject(own)))).rejects.toBe(own)
  expect(lost.classify?.(own)).toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  expect(classify?.(own)).toBeUndefined()
})

test('a transaction that is given up is neither rolled back nor committed by hand: its connection is closed', async () => {
  const { asked, transactions } = openPool()
  const abandoned = new TaskError('TRANSACTION_ABANDONED', 'too long')
  await expect(transactions(() => Promise.reject(abandoned))).rejects.toBe(abandoned)
  expect(asked).toEqual(['connect', 'drop'])
})

test('a pool that cannot connect is named, and how often work is repeated is checked', async () => {
  const { run } = openPool({ connect: ['NJS-503'] })
  await expect(run()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  const pool = { getConnection: () => Promise.reject(failure('NJS-503')) }
  expect(() => oracledbTransactions(pool, { retries: -1 })).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
})
