/** The testing kit: a test of a handler needs no server and no waiting, and finds what a started stream would do. */
import { codeOf } from '@taskstream/task-testing/suite'
import { defineJob, defineTopic, exponential, fixed, json, TaskDecision } from 'taskstream'
import { testStream } from 'taskstream/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'

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

test('whoever watches is told of what was pushed and drained', async () => {
  await using stream = await testStream()
  const job = defineJob('watched')
  stream.handle(job, () => {})
  const events = stream.watch({ jobs: [job] })
  await stream.submit(job)
  await stream.drain()
  const states = [await events.next(), await events.next()].map(({ value }) => value?.state)
  expect(states).toEqual(['ready', 'succeeded'])
})

test('what a job has returned is waited for, by the time of the test itself', async () => {
  await using stream = await testStream()
  const job = defineJob('waited', { input: json<number>(), output: json<number>() })
  stream.handle(job, ({ input }) => input * 2)
  const refs = [await stream.submit(job, 1), await stream.submit(job, 2)]
  expect(await codeOf(() => stream.wait(job, refs[0]!, { timeoutMs: 60 }))).toBe('WAIT_TIMEOUT')
  const early = stream.wait(job, refs[0]!)
  await stream.drain()
  expect(await Promise.all(refs.map((ref) => stream.wait(job, ref)))).toEqual([2, 4])
  expect(await early).toBe(2)
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
    { tries: 1, state: 'retrying', output: expect.stringContaining('try 1') as unknown },
  ])
  expect(await stream.drain({ advance: true })).toMatchObject([
    { tries: 2, state: 'retrying' },
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

test('rounds bound the tries of a job that is tried again at once, and not how many jobs are ready', async () => {
  await using stream = await testStream()
  const job = defineJob('many', { input: json<number>(), retry: fixed({ tries: 100, afterMs: 0 }) })
  let tries = 0
  let fails = false
  stream.handle(job, () => {
    tries++
    if (fails) throw new Error('again')
  })
  await stream.transaction((database) =>
    stream.pushMany(
      database,
      job,
      Array.from({ length: 1_200 }, (_, n) => [n] as const),
    ),
  )
  expect(await stream.drain()).toHaveLength(1_200)
  await stream.transaction((database) =>
    stream.pushMany(
      database,
      job,
      Array.from({ length: 1_200 }, (_, n) => [n, { delayMs: 1 }] as const),
    ),
  )
  expect(await stream.drain({ advance: true })).toHaveLength(1_200)
  tries = 0
  fails = true
  await stream.submit(job, 0)
  expect(await codeOf(() => stream.drain({ rounds: 5 }))).toBe('DRAIN_ENDLESS')
  expect(tries).toBe(6)
})

test('a stream that always puts a job off ends its test by an error, too', async () => {
  await using stream = await testStream()
  const job = defineJob('put-off', { retry: fixed({ tries: 1, afterMs: 0 }) })
  stream.handle(job, () => TaskDecision.snooze({ afterMs: 10 }))
  await stream.submit(job)
  expect(await codeOf(() => stream.drain({ advance: true, rounds: 5 }))).toBe('DRAIN_ENDLESS')
})

test('jobs are found by their tags without a promise, in as many portions as it takes', async () => {
  await using stream = await testStream({ jobs: [email] })
  await stream.transaction((database) => {
    const tagged = (count: number, odd: boolean): void =>
      void stream.pushMany(
        database,
        email,
        Array.from({ length: count }, () => [{ to: 'ann' }, { tags: { odd } }]),
      )
    tagged(5_000, false)
    tagged(1, true)
    const { jobs, lookedAt, next } = stream.find(database, email, { tags: { odd: true } })
    expect([jobs.length, lookedAt, next]).toEqual([1, 5_001, undefined])
    const { lookedAt: most, next: rest } = stream.find(database, email, { tags: { odd: true }, limit: 4_999 })
    expect([most, rest]).toEqual([4_999, { after: 4_999 }])
  })
})

test('options that do not exist are refused by name', async () => {
  await expect(testStream({ job: [] } as never)).rejects.toThrow(/did you mean jobs/)
  await using stream = await testStream()
  await expect(stream.drain({ advanced: true } as never)).rejects.toThrow(/did you mean advance/)
  await expect(stream.drain({ rounds: 0 })).rejects.toThrow(/rounds must be/)
})

test('typed topics are drained in their batches, and what was pushed to them is known', async () => {
  const prices = defineTopic('prices', { input: json<{ symbol: string; price: number }>(), key: ({ symbol }) => symbol })
  const alerts = defineTopic('alerts', { input: json<string>() })
  await using stream = await testStream({ jobs: [alerts] })
  stream.database.exec('create table price (symbol text, price real)')
  const sizes: number[] = []
  stream.topic(prices).process({
    size: 2,
    handler: (held, { complete }) => {
      sizes.push(held.length)
      return complete((database, still) => {
        for (const { input } of still) database.prepare('insert into price values (?, ?)').run(input.symbol, input.price)
        stream.topic(alerts).push(database, [`${still.length} new`])
      })
    },
  })
  stream.topic(prices).push(stream.database, [
    { symbol: 'EUR', price: 1 },
    { symbol: 'USD', price: 2 },
  ])
  await stream.topic(prices).submit([{ symbol: 'EUR', price: 3 }], { insertion: 'supersede' })
  await stream.topic(prices).submit([{ symbol: 'NOK', price: 4 }])
  expect(await stream.drain()).toEqual([
    { job: 'prices', id: '@2', tries: 1, state: 'succeeded', output: undefined },
    { job: 'prices', id: '@3', tries: 1, state: 'succeeded', output: undefined },
    { job: 'prices', id: '@4', tries: 1, state: 'succeeded', output: undefined },
  ])
  expect(sizes).toEqual([2, 1])
  expect(stream.database.prepare('select symbol, price from price').all()).toEqual([
    { symbol: 'USD', price: 2 },
    { symbol: 'EUR', price: 3 },
    { symbol: 'NOK', price: 4 },
  ])
  expect(await stream.pushed(alerts)).toEqual(['2 new', '1 new'])
  expect((await stream.pushed(prices)).map(({ price }) => price)).toEqual([1, 2, 3, 4])
})

test('an input that does not fit fails alone in a drain, with the error of its schema', async () => {
  const topic = defineTopic('numbers', { input: z.number(), key: String, retry: fixed({ tries: 2, afterMs: 0, jitter: 0 }) })
  await using stream = await testStream()
  stream.topic(topic).process({
    handler: ([first]) => {
      if (first!.tries === 1) throw new Error('not now')
    },
  })
  stream.tasks.push(stream.database, 'numbers', ['a', { identifier: 'b', input: '7' }])
  expect(await stream.drain({ advance: true })).toMatchObject([
    { id: '@1', tries: 1, state: 'failed', output: expect.stringContaining('is no JSON') as unknown },
    { id: '@2', tries: 1, state: 'retrying', output: expect.stringContaining('not now') as unknown },
    { id: '@2', tries: 2, state: 'succeeded' },
  ])
})
