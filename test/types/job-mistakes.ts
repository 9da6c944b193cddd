/** Mistakes with jobs that the compiler finds: compiled, never run. */
import { type } from 'arktype'
import type { Pool as MysqlPool } from 'mysql2/promise'
import type pg from 'pg'
import type { Sql } from 'postgres'
import * as v from 'valibot'
import { z } from 'zod'
import { defineJob, defineQueue, externalProcess, httpRequest, json, many, settled, TaskDecision, versioned } from 'taskstream'
import type { Job } from 'taskstream'
import { taskstream as mysqlStream } from 'taskstream/mysql2'
import { taskstream } from 'taskstream/pg'
import { taskstream as postgresJsStream } from 'taskstream/postgres-js'

declare const pool: pg.Pool
declare const tx: pg.PoolClient
declare const mysqlPool: MysqlPool
declare const sql: Sql

const stream = taskstream(pool)
const letter = defineJob('letter', { input: json<{ to: string; subject: string }>() })
const count = defineJob('count', { input: z.object({ count: z.number() }) })
const cleanup = defineJob('cleanup')
const order = defineJob('order', { input: json<number>(), next: [letter, cleanup] })
const optional = defineJob('optional', { input: z.object({ to: z.string() }).default({ to: 'all' }) })

// ---- Signatures

// Whether jobs are signed is no boolean.
// @ts-expect-error
defineQueue('signed', { signed: true })
// Jobs are signed in no such way.
// @ts-expect-error
defineJob('signed', { signed: 'always' })
// Public keys are given, where jobs are signed.
// @ts-expect-error
taskstream(pool, { signing: { keys: { default: 'public' } } })
// A key without a name is given, where they are verified.
// @ts-expect-error
taskstream(pool, { verification: { key: 'public' } })
// Keys are given by their order, not by their names.
// @ts-expect-error
taskstream(pool, { verification: { keys: 'public' } })
// A key is given by the wrong name.
// @ts-expect-error
taskstream(pool, { signing: { key: 'private', keyId: 'default' } })

// ---- Pushes

// The input is missing.
// @ts-expect-error
await stream.push(tx, letter)
// A part of the input is missing.
// @ts-expect-error
await stream.push(tx, letter, { to: 'a@example.org' })
// A part of the input is of another type.
// @ts-expect-error
await stream.submit(count, { count: '1' })
// A name in the input is misspelt.
// @ts-expect-error
await stream.push(tx, letter, { to: 'a@example.org', subject: 'Hello', suject: 'Hello' })
// A job without an input is given one.
// @ts-expect-error
await stream.push(tx, cleanup, { to: 'a@example.org' })
// The options stand in place of the input.
// @ts-expect-error
await stream.push(tx, letter, { delayMs: 1_000 })
// The options stand in place of the input that a job does not have.
// @ts-expect-error
await stream.push(tx, cleanup, { delayMs: 1_000 })
// There is no such option of a push.
// @ts-expect-error
await stream.push(tx, cleanup, undefined, { delay: 1_000 })
// The input is undefined, of which there is no JSON.
// @ts-expect-error
await stream.push(tx, optional, undefined)
// One of many inputs is incomplete.
// @ts-expect-error
await stream.pushMany(tx, letter, [[{ to: 'a', subject: 'b' }], [{ to: 'c' }]])
// Many inputs are given without their brackets.
// @ts-expect-error
await stream.pushMany(tx, letter, [{ to: 'a', subject: 'b' }])
// The name of a job stands in place of its definition.
// @ts-expect-error
await stream.submit('letter', { to: 'a', subject: 'b' })

// ---- Transactions

// A pool stands in place of a transaction.
// @ts-expect-error
await stream.push(pool, cleanup)
// @ts-expect-error
await mysqlStream(mysqlPool, { database: 'mysql' }).push(mysqlPool, cleanup)
// @ts-expect-error
await postgresJsStream(sql).push(sql, cleanup)
// The server is not said.
// @ts-expect-error
mysqlStream(mysqlPool)
// The transaction is forgotten.
// @ts-expect-error
await stream.cancel(letter, 'a')

// ---- Definitions

// There is no such option of a job.
// @ts-expect-error
defineJob('a', { retries: 3 })
// There is no such option of a stream.
// @ts-expect-error
taskstream(pool, { lease: 1_000 })
// There is no such option of a handler.
// @ts-expect-error
stream.handle(cleanup, () => {}, { size: 3 })
// A key is made of what is not in the input.
// @ts-expect-error
defineJob('a', { input: json<{ to: string }>(), key: ({ from }) => from })
// A key is made of an input that the job does not have.
// @ts-expect-error
defineJob('a', { key: ({ to }: { to: string }) => to })
// An id is no text.
// @ts-expect-error
defineJob('a', { input: json<number>(), id: (input) => input })
// A job with an input is pushed by the clock, which has none.
// @ts-expect-error
defineJob('a', { input: json<number>(), timer: '03:00' })
// The next job is named by a text.
// @ts-expect-error
defineJob('a', { next: ['letter'] })
// A date becomes text: "input.at would not come back from JSON".
// @ts-expect-error
defineJob('a', { input: z.object({ at: z.date() }) })
// A big number deep inside: "input.deep.big would not come back from JSON".
// @ts-expect-error
defineJob('a', { input: json<{ deep: { big: bigint } }>() })
// Dates in a list: "input.list[].at would not come back from JSON".
// @ts-expect-error
defineJob('a', { input: v.object({ list: v.array(v.object({ at: v.date() })) }) })
// Dates in a record: "input.days.${string} would not come back from JSON".
// @ts-expect-error
defineJob('a', { input: json<{ days: Record<string, Date> }>() })
// A map becomes an empty object.
// @ts-expect-error
defineJob('a', { input: type({ map: 'Map' }) })
// A function becomes nothing.
// @ts-expect-error
defineJob('a', { input: json<{ then?: () => void }>() })
// An error becomes an empty object.
// @ts-expect-error
defineJob('a', { input: json<{ error: TypeError }>() })
// An address becomes text.
// @ts-expect-error
defineJob('a', { input: json<{ address: URL }>() })
// The whole input is bytes: "input would not come back from JSON".
// @ts-expect-error
defineJob('a', { input: json<Uint8Array>() })

// ---- Versions

const bill = versioned(json<{ id: number }>())
const Bill = z.object({ id: z.number(), currency: z.string() })
// An upcast misses a field of the next schema.
// @ts-expect-error
bill.to(Bill, (old) => ({ id: old.id }))
// An upcast makes a field of another type.
// @ts-expect-error
bill.to(Bill, (old) => ({ ...old, currency: 5 }))
// An upcast reads what the schema before does not make.
// @ts-expect-error
bill.to(Bill, (old) => ({ ...old, currency: old.country }))
// An upcast answers later.
// @ts-expect-error
bill.to(Bill, async (old) => ({ ...old, currency: 'NOK' }))
// An upcast of the second version takes what the first has made.
// @ts-expect-error
bill.to(json<{ ref: string }>(), ({ id }) => ({ ref: `${id}` })).to(Bill, ({ id }) => ({ id, currency: 'NOK' }))
// The upcast is forgotten.
// @ts-expect-error
bill.to(Bill)
// A date becomes text in every version: "input.at would not come back from JSON".
// @ts-expect-error
bill.to(z.object({ at: z.date() }), () => ({ at: new Date() }))
// @ts-expect-error
versioned(z.object({ at: z.date() }))
// What is pushed is of an older version.
// @ts-expect-error
await stream.submit(defineJob('bill', { input: bill.to(Bill, (old) => ({ ...old, currency: 'NOK' })) }), { id: 1 })
// A check takes a list.
// @ts-expect-error
await stream.check(letter)
// A check takes no names.
// @ts-expect-error
await stream.check(['letter'])
// There is no such option of a check.
// @ts-expect-error
await stream.check([letter], { size: 5 })

// ---- Handlers

// A command is a line for a shell.
// @ts-expect-error
externalProcess({ command: 'python3 render.py' })
// A command has no program.
// @ts-expect-error
externalProcess({ command: [] })
// A variable may not be set in this process.
// @ts-expect-error
externalProcess({ command: ['python3'], env: { TOKEN: process.env['TOKEN'] } })
// A request has no body.
// @ts-expect-error
httpRequest({ url: 'http://mailer.internal/', method: 'GET' })
// There is no address.
// @ts-expect-error
httpRequest({ attemptMs: 30_000 })
// A handler takes another input.
// @ts-expect-error
stream.handle(letter, ({ input }: { input: { to: number } }) => input.to)
// A handler reads what is not in the input.
// @ts-expect-error
stream.handle(letter, ({ input }) => input.from)
// A handler writes in a transaction of another driver.
// @ts-expect-error
stream.handle(letter, ({ commit }) => commit((transaction: Sql) => transaction`select 1`))
// A handler does not go on.
// @ts-expect-error
stream.handle(order, () => {})
// A handler waits, and does not go on.
// @ts-expect-error
stream.handle(order, async ({ input }) => input)
// The commit does not go on.
// @ts-expect-error
stream.handle(order, ({ commit }) => commit(async (client) => void (await client.query('select 1'))))
// One of two ways does not go on.
// @ts-expect-error
stream.handle(order, ({ input, next }) => (input > 0 ? next(cleanup) : undefined))
// What `next` returns is not returned.
// @ts-expect-error
stream.handle(order, ({ next }) => void next(cleanup))
// What `commit` returns is not returned.
// @ts-expect-error
stream.handle(order, ({ commit }) => void commit(() => TaskDecision.success()))
// A job goes on with one that it does not declare.
// @ts-expect-error
stream.handle(order, ({ next }) => next(count, { count: 1 }))
// A job that declares none goes on.
// @ts-expect-error
stream.handle(letter, ({ next }) => next(cleanup))
// A job goes on with an incomplete input.
// @ts-expect-error
stream.handle(order, ({ next }) => next(letter, { to: 'a@example.org' }))
// A job goes on without an input.
// @ts-expect-error
stream.handle(order, ({ next }) => next(letter))
// A name in the next input is misspelt.
// @ts-expect-error
stream.handle(order, ({ next }) => next(letter, { to: 'a', subject: 'b', suject: 'b' }))
const total = defineJob('total', { input: json<number>(), output: json<{ total: number }>() })
// A handler returns nothing where an output is defined.
// @ts-expect-error
stream.handle(total, () => {})
// A handler returns something else.
// @ts-expect-error
stream.handle(total, ({ input }) => ({ total: String(input) }))
// A commit returns something else.
// @ts-expect-error
stream.handle(total, ({ commit }) => commit(() => ({ sum: 1 })))
// An output that JSON does not bring back.
// @ts-expect-error
defineJob('dated', { output: json<{ at: { due: Date } }>() })
// What was waited for is something else.
// @ts-expect-error
export const waited: string = await stream.wait(total, '@7')
// The reference is of another job.
// @ts-expect-error
await stream.wait(total, await stream.submit(cleanup))
// An option of wait is misspelt.
// @ts-expect-error
await stream.wait(total, '@7', { timeout: 7 })
// A written type leaves out one of the next jobs.
// @ts-expect-error
export const written: Job<'written', void, void, 'letter'> = defineJob('written', { next: [letter, cleanup] })

// ---- References

const ref = await stream.submit(letter, { to: 'a@example.org', subject: 'Hello' })
// The reference is of another job.
// @ts-expect-error
await stream.cancel(tx, cleanup, ref)
// @ts-expect-error
await stream.get(tx, count, ref)
// @ts-expect-error
await stream.reschedule(tx, count, ref, { delayMs: 1_000 })
// Several jobs may have a key, so it finds no single one.
// @ts-expect-error
await stream.get(tx, letter, { key: 'a@example.org' })
// A number is no id.
// @ts-expect-error
await stream.cancel(tx, letter, 7)
// An array cannot tell how far was looked: jobs are found by their tags with `find`.
// @ts-expect-error
await stream.list(tx, letter, { tags: { tenant: 7 } })
// @ts-expect-error
await stream.find(tx, letter, { states: ['failed'] })
// A tag is no date.
// @ts-expect-error
await stream.find(tx, letter, { tags: { day: new Date() } })

// ---- Middleware, queues and routes

const mail = defineQueue('mail')
const welcome = defineJob('email:welcome', { queue: mail, input: json<{ to: string }>() })
// A middleware forgets to return what next returns.
// @ts-expect-error
stream.use(async (_, next) => {
  await next()
})
// A middleware returns nothing where it catches an error.
// @ts-expect-error
stream.use(async (_, next) => {
  try {
    return await next()
  } catch {
    return
  }
})
// A middleware reads the input of one job, though it is given any.
// @ts-expect-error
stream.use(({ input }, next) => (input.to === 'all' ? next() : next()))
// The middleware of a job is no list.
// @ts-expect-error
stream.handle(letter, () => {}, { use: (_, next) => next() })
// There is no such option of a queue.
// @ts-expect-error
defineQueue('a', { maxEntries: 10 })
// @ts-expect-error
defineQueue('a', { concurrency: 10 })
// The name of a queue stands in place of its definition.
// @ts-expect-error
defineJob('a', { queue: 'mail' })
// A job stands in place of its queue.
// @ts-expect-error
stream.route(welcome, { '*': () => {} })
// A route has no handler.
// @ts-expect-error
stream.route(mail, { 'email:*': 'forward' })
// A route reads an input that nothing has checked.
// @ts-expect-error
stream.route(mail, { 'email:*': ({ input }) => input.to })
// There is no such option of a route.
// @ts-expect-error
stream.route(mail, {}, { size: 3 })
// The reference is of another job of the queue.
// @ts-expect-error
await stream.cancel(tx, defineJob('email:other', { queue: mail }), await stream.submit(welcome, { to: 'a' }))
// ---- Needs

const page = defineJob('page', { input: json<string>(), output: json<{ words: number }>() })
const report = defineJob('report', { needs: { pages: many(page), cover: settled(page) }, output: json<number>() })
const onePage = await stream.push(tx, page, '/a')
const oneLetter = await stream.push(tx, letter, { to: 'a@example.org', subject: 'Hello' })
// The needs are missing.
// @ts-expect-error
await stream.push(tx, report)
// One of the needs is missing.
// @ts-expect-error
await stream.push(tx, report, undefined, { needs: { pages: [onePage] } })
// One is given for many.
// @ts-expect-error
await stream.push(tx, report, undefined, { needs: { pages: onePage, cover: onePage } })
// Another job is given.
// @ts-expect-error
await stream.submit(report, undefined, { needs: { pages: [oneLetter], cover: onePage } })
// The job has no needs.
// @ts-expect-error
await stream.push(tx, page, '/a', { needs: { pages: [] } })
// A job that need not succeed may not have returned anything.
// @ts-expect-error
stream.handle(report, ({ needs }) => needs.cover.value.words)
// A need of another name is read.
// @ts-expect-error
stream.handle(report, ({ needs }) => needs.page.length)
// A job that goes on as one with needs gives none.
const crawl = defineJob('crawl', { next: [report] })
// @ts-expect-error
stream.handle(crawl, ({ next }) => next(report))
// A need is no job.
// @ts-expect-error
defineJob('broken', { needs: { page: 'page' } })
// A state that no job has is watched.
// @ts-expect-error
stream.watch({ states: ['done'] })
// What is no job is watched.
// @ts-expect-error
stream.watch({ jobs: ['letter'] })
// An option is misspelt.
// @ts-expect-error
stream.watch({ every: 1_000 })
// A job is compared with one that is not watched.
// @ts-expect-error
for await (const { job } of stream.watch({ jobs: [letter] })) if (job === 'page') break
