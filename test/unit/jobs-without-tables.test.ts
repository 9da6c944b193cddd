/** Where there are no tables, each verb of a stream says which job was asked for, and what to call first. */
import { DatabaseSync } from 'node:sqlite'
import { defineJob, taskstream } from 'taskstream/node-sqlite'
import type { Stream } from 'taskstream/node-sqlite'
import { expect, test } from 'vitest'

const job = defineJob('letter')

test.each<[string, (stream: Stream<DatabaseSync, 'sync'>, tx: DatabaseSync) => unknown]>([
  ['push', (stream, tx) => stream.push(tx, job)],
  ['pushMany', (stream, tx) => stream.pushMany(tx, job, [[], []])],
  ['submit', (stream) => stream.submit(job)],
  ['cancel', (stream, tx) => stream.cancel(tx, job, 'a')],
  ['reschedule', (stream, tx) => stream.reschedule(tx, job, 'a', { delayMs: 1 })],
  ['get', (stream, tx) => stream.get(tx, job, 'a')],
  ['list', (stream, tx) => stream.list(tx, job)],
  ['find', (stream, tx) => stream.find(tx, job, { tags: {} })],
  ['retry', (stream, tx) => stream.retry(tx, job, 'a')],
  ['prepare', (stream) => stream.prepare(job)],
])('%s', async (_, verb) => {
  using database = new DatabaseSync(':memory:')
  await using stream = taskstream(database, { migrate: false })
  const call = async (): Promise<unknown> => verb(stream, database)
  await expect(call()).rejects.toMatchObject({
    code: 'SCHEMA_MISSING',
    message: expect.stringMatching(
      /not in this database: call await stream\.start\(\) .* with the job "letter" first/,
    ) as unknown,
  })
})

test('nothing waits, says a check, which makes no tables', async () => {
  using database = new DatabaseSync(':memory:')
  await using stream = taskstream(database)
  expect(await stream.check([job])).toMatchObject([{ name: 'letter', known: false, lookedAt: 0, misfits: [] }])
  expect(database.prepare('select name from sqlite_master').all()).toEqual([])
})
