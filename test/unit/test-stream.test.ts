/** The testing kit: a test of a handler needs no server and no waiting, and finds what a started stream would do. */
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, exponential, fixed, json, TaskDecision } from 'taskstream'
import { testStream } from 'taskstream/testing'
import { expect, test } from 'vitest'

const email = defineJob('email', { input: json<{ to: string }>() })
const reminder = defineJob('reminder', { input: json<{ order: number }>(), id: ({ order }) => `order ${order}`, next: [email] })
const invoice = defineJob('invoice', { input: json<{ id: number; customer: string }>(), key: ({ customer }) => customer })

test('what is ready is handled with all that follows, in memory, and what waits is handled once its time has come', async () => {
  await using stream = await testStream({ jobs: [email], now: new Date('2026-01-01') })
  stream.database.exec('create table invoices (id integer)')
  stream.handle(invoice, ({ input, commit }) =>
    commit((database) => {
      database.prepare('insert into invoices values (?)').run(input.id)
      stream.push(database, email, { to: input.customer })
      stream.push(database, reminder, { order: input.id }, { delayMs: 86_400_000 })
    }),
  )
  stream.handle(reminder, ({ input, next }) => next(email, { to: `reminded of ${input.order}` }))
  await stream.submit(invoice, { id: 7, customer: 'ann' })
  expect(await stream.drain()).toEqual([{ job: 'invoice', id: '@1', tries: 1, state: 'succeeded', output: undefined }])
  expect(stream.database.prepare('select id from invoices').all()).toEqual([{ id: 7 }])
  expect(await stream.pushed(email)).toEqual([{ to: 'ann' }])
  expect(await stream.drain()).toEqual([])

  stream.clock.advance(86_399_999)
  expect(await stream.drain()).toEqual([])
  stream.clock.advance(1)
  expect(await stream.drain()).toMatchObject([{ job: 'reminder', id: 'order 7', state: 'succeeded' }])
  expect(await stream.pushed(email)).toEqual([{ to: 'ann' }, { to: 'reminded of 7' }])
})

test('tries that fail are tried again as time is moved on, each in its turn', async () => {
  await using stream = await testStream({ now: new Date('2026-01-01') })
  const job = defineJob('retried', { input: json<string>(), retry: exponential({ tries: 3, firstMs: 1_000, jitter: 0 }) })
  const at: string[] = []
  stream.handle(job, ({ tries }) => {
    at.push(stream.clock.now().toISOString().slice(17, 19))
    if (tries < 3) throw new Error(`try ${tries}`)
  })
  await stream.submit(job, 'a')
  expect(await stream.drain()).toMatchObject([
    { tries: 1, state: 'suspended', output: expect.stringContaining('try 1') as unknown },
  ])
  expect(await stream.drain({ advance: true })).toMatchObject([
    { tries: 2, state: 'suspended' },
    { tries: 3, state: 'succeeded' },
  ])
  expect(at).toEqual(['00', '01', '03'])
})

test('a handler that always goes on ends its test by an error', async () => {
  await using stream = await testStream()
  const job = defineJob('endless')
  stream.handle(job, ({ next }) => next(job))
  await stream.submit(job)
  expect(await codeOf(() => stream.drain({ rounds: 1 }))).toBe('DRAIN_ENDLESS')
})

test('a stream that always puts a job off ends its test by an error, too', async () => {
  await using stream = await testStream()
  const job = defineJob('put-off', { retry: fixed({ tries: 1, afterMs: 0 }) })
  stream.handle(job, () => TaskDecision.snooze({ afterMs: 10 }))
  await stream.submit(job)
  expect(await codeOf(() => stream.drain({ advance: true, rounds: 5 }))).toBe('DRAIN_ENDLESS')
})

test('options that do not exist are refused by name', async () => {
  await expect(testStream({ job: [] } as never)).rejects.toThrow(/did you mean jobs/)
  await using stream = await testStream()
  await expect(stream.drain({ advanced: true } as never)).rejects.toThrow(/did you mean advance/)
  await expect(stream.drain({ rounds: 0 })).rejects.toThrow(/rounds must be/)
})
