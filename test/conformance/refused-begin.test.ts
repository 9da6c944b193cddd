/** While another process keeps the file of libSQL locked, a transaction is refused. Later transactions on the connection commit. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createClient } from '@libsql/client'
import { libsqlTransactions } from '@taskstream/task-sql/libsql'
import { describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'

describe.skipIf(!canRun)('a client of libSQL', () => {
  test('whose begin another process had refused commits on the same connection afterwards', async () => {
    await using subject = await openSubject()
    const url = `file:${subject.location.at}`
    // With one connection, the later commits use the refused one.
    const client = createClient({ url, concurrency: 1 })
    await client.execute('create table written (by text)')
    const transactions = libsqlTransactions(client, { busyTimeoutMs: 0 })
    const write = (by: string): Promise<unknown> =>
      transactions((transaction) => transaction.execute({ sql: 'insert into written values (?)', args: [by] }))
    const keeper = fork(new URL('../databases/file-keeper.ts', import.meta.url), [url], {
      execArgv: ['--conditions=@taskstream/source'],
    })
    try {
      await once(keeper, 'message')
      await expect(write('refused')).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
      await expect(write('refused again')).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
      const ended = once(keeper, 'exit')
      keeper.send('commit')
      expect(await ended).toEqual([0, null])
    } finally {
      keeper.kill('SIGKILL')
    }
    await write('first')
    await write('second')
    const { rows } = await client.execute('select by from written order by rowid')
    expect(rows.map(({ by }) => by)).toEqual(['keeper', 'first', 'second'])
    client.close()
  })
})
