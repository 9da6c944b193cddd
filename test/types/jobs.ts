/** Jobs give handlers, transactions and pushes their types, for every kind of schema and every driver: compiled, never run. */
import type { PGlite, Transaction as PgliteTransaction } from '@electric-sql/pglite'
import type { Client as LibsqlClient, Transaction as LibsqlTransaction } from '@libsql/client'
import { type } from 'arktype'
import type { Database } from 'better-sqlite3'
import type { Pool as MysqlPool, PoolConnection } from 'mysql2/promise'
import type { DatabaseSync } from 'node:sqlite'
import oracledb from 'oracledb'
import type pg from 'pg'
import type { Sql, TransactionSql } from 'postgres'
import * as v from 'valibot'
import { z } from 'zod'
import { defineJob, defineQueue, defineTopic, externalProcess, httpRequest, json, TaskDecision, versioned } from 'taskstream'
import type {
  CheckedDefinition,
  EndOf,
  FoundJobs,
  HeldJob,
  Job,
  JobEvent,
  JobEvents,
  JobRef,
  JobTags,
  Queue,
  RouteHandler,
  Topic,
  VersionedSchema,
  WatchOptions,
} from 'taskstream'
import { taskstream as betterSqlite3Stream } from 'taskstream/better-sqlite3'
import { taskstream as libsqlStream } from 'taskstream/libsql'
import { taskstream as mysqlStream } from 'taskstream/mysql2'
import { taskstream as nodeSqliteStream } from 'taskstream/node-sqlite'
import { taskstream as oracleStream } from 'taskstream/oracledb'
import { taskstream } from 'taskstream/pg'
import { taskstream as pgliteStream } from 'taskstream/pglite'
import { taskstream as postgresJsStream } from 'taskstream/postgres-js'

type Equal<Left, Right> = (<Type>() => Type extends Left ? 1 : 2) extends <Type>() => Type extends Right ? 1 : 2 ? true : false
/** Compiles if the types are equal: `expectType<Equal<typeof input, string>>()`. */
declare function expectType<_Same extends true>(): void

declare const pool: pg.Pool
declare const tx: pg.PoolClient
const stream = taskstream(pool)

interface Letter {
  readonly to: string
  readonly subject: string
}

// Without a schema a job has no input.
const cleanup = defineJob('cleanup', { timer: '03:00 Europe/Oslo' })
expectType<Equal<typeof cleanup, Job<'cleanup', void, void, never>>>()
expectType<Equal<JobRef<'cleanup'>, Awaited<ReturnType<typeof pushCleanup>>>>()
async function pushCleanup() {
  await stream.push(tx, cleanup, undefined, { delayMs: 1_000 })
  return stream.push(tx, cleanup)
}

// json<T>(): what is given is what the handler gets.
const letter = defineJob('letter', { input: json<Letter>(), key: ({ to }) => to, id: ({ subject }) => subject, ordered: true })
expectType<Equal<typeof letter, Job<'letter', Letter, Letter, never>>>()
stream.handle(letter, ({ input, name, id, key, tags, tries, signal, task }) => {
  expectType<Equal<typeof input, Letter>>()
  expectType<Equal<typeof name, 'letter'>>()
  expectType<Equal<typeof id, string>>()
  expectType<Equal<typeof key, string | undefined>>()
  expectType<Equal<typeof tags, JobTags>>()
  expectType<Equal<typeof tries, number>>()
  expectType<Equal<typeof signal, AbortSignal>>()
  expectType<Equal<typeof task.identifier, string>>()
})
// A handler may be written apart, and need less than it gets.
const send = async ({ input }: HeldJob<pg.PoolClient, 'letter', Letter>): Promise<string> => input.to
stream.handle(letter, send)
stream.handle(letter, ({ input }: { readonly input: { readonly to: string } }) => input.to)

// Handlers outside the program fit jobs of any definition.
for (const handler of [externalProcess({ command: ['python3', 'render.py'] }), httpRequest({ url: new URL('http://mailer/') })]) {
  stream.handle(cleanup, handler)
  stream.handle(letter, handler, { concurrency: 2 })
  stream.handle(defineJob('render', { output: json<{ pages: number }>(), input: json<number>() }), handler)
  stream.handle(defineJob('lead', { next: [letter] }), handler)
  stream.handle(defineJob('both', { next: [letter], output: z.number() }), handler)
}

// zod, valibot and arktype: keys and pushes take what is given, and handlers get what the schema makes of it.
const zodJob = defineJob('zod', {
  input: z.object({ at: z.iso.datetime().transform((text) => new Date(text)), count: z.number().default(1) }),
  key: ({ at, count = 0 }) => `${at.toUpperCase()} ${count.toFixed()}`,
})
expectType<Equal<typeof zodJob, Job<'zod', { at: string; count?: number | undefined }, { at: Date; count: number }, never>>>()
stream.handle(zodJob, ({ input }) => expectType<Equal<typeof input, { at: Date; count: number }>>())
await stream.push(tx, zodJob, { at: '2026-03-01T12:00:00Z' })

const valibotJob = defineJob('valibot', {
  input: v.object({
    at: v.pipe(
      v.string(),
      v.transform((text) => new Date(text)),
    ),
  }),
  key: ({ at }) => at.toUpperCase(),
})
expectType<Equal<typeof valibotJob, Job<'valibot', { at: string }, { at: Date }, never>>>()
stream.handle(valibotJob, ({ input }) => expectType<Equal<typeof input, { at: Date }>>())
await stream.submit(valibotJob, { at: '2026-03-01T12:00:00Z' })

const arktypeJob = defineJob('arktype', { input: type({ at: 'string.date.parse' }), key: ({ at }) => at.toUpperCase() })
expectType<Equal<typeof arktypeJob, Job<'arktype', { at: string }, { at: Date }, never>>>()
stream.handle(arktypeJob, ({ input }) => expectType<Equal<typeof input, { at: Date }>>())
await stream.pushMany(tx, arktypeJob, [[{ at: '2026-03-01T12:00:00Z' }, { priority: 1 }]])

// Inputs that look like other things, or that nobody knows.
const contact = defineJob('contact', { input: json<{ name: string; message: string }>() })
await stream.push(tx, contact, { name: 'Ada', message: 'Hello' })
const whatever = defineJob('whatever', { input: z.any() })
await stream.push(tx, whatever, { some: 'thing' })
const unknown = defineJob('unknown', { input: json<unknown>() })
await stream.push(tx, unknown, [1, 2])
const optional = defineJob('optional', { input: z.object({ to: z.string() }).default({ to: 'all' }) })
await stream.push(tx, optional, { to: 'a@example.org' })
/** A type that contains itself in many places costs no more than its members. */
interface Rule {
  readonly type: string
  readonly not?: Rule
  readonly if?: Rule
  readonly then?: Rule
  readonly else?: Rule
  readonly items?: Rule | readonly Rule[]
  readonly contains?: Rule
  readonly names?: Rule
  readonly rest?: boolean | Rule
  readonly all?: readonly Rule[]
  readonly any?: readonly Rule[]
  readonly one?: readonly Rule[]
  readonly members?: Readonly<Record<string, Rule>>
  readonly patterns?: Readonly<Record<string, Rule>>
  readonly needs?: Readonly<Record<string, Rule | readonly string[]>>
}
const rules = defineJob('rules', { input: json<Rule>() })
await stream.push(tx, rules, { type: 'object', members: { to: { type: 'string' } } })

// Pushes return references, by which jobs of the same definition are found and cancelled.
const ref = await stream.push(tx, letter, { to: 'a@example.org', subject: 'Hello' }, { tags: { tenant: 7 }, delayMs: 60_000 })
expectType<Equal<typeof ref, JobRef<'letter'>>>()
const refs = await stream.pushMany(
  tx,
  letter,
  ['a', 'b'].map((to) => [{ to, subject: 'Hello' }]),
  { insertion: 'supersede' },
)
expectType<Equal<typeof refs, JobRef<'letter'>[]>>()
const submitted = await stream.submit(letter, { to: 'a@example.org', subject: 'Hello' })
expectType<Equal<typeof submitted, JobRef<'letter'>>>()
await stream.cancel(tx, letter, ref)
await stream.cancel(tx, letter, ref.id)
await stream.cancel(tx, letter, { key: 'a@example.org' })
await stream.reschedule(tx, letter, submitted, { delayMs: 1_000 })
const info = await stream.get(tx, letter, ref)
expectType<Equal<NonNullable<typeof info>['input'], Letter>>()

// A job with `next` goes on, or decides otherwise. Types know the names of the next jobs.
const order = defineJob('order', { input: json<number>(), next: [letter, cleanup] })
expectType<Equal<typeof order, Job<'order', number, number, 'letter' | 'cleanup'>>>()
stream.handle(order, ({ next }) => next(letter, { to: 'a@example.org', subject: 'Hello' }, { priority: 1 }))
stream.handle(order, async ({ next }) => next(cleanup))
stream.handle(order, ({ input, next }) => (input > 0 ? next(order, input - 1) : TaskDecision.success()))
stream.handle(order, ({ input, commit, next }) =>
  commit(async (client) => {
    await client.query('insert into shipment (order_id) values ($1)', [input])
    return input > 0 ? next(cleanup) : TaskDecision.failure('no such order')
  }),
)
// What a handler returns is typed by the output, and so is what whoever waits gets: after JSON, and from the last of a chain.
const crm = defineJob('crm', {
  input: json<{ user: number }>(),
  output: z.object({ crmId: z.string(), at: z.iso.datetime().transform((text) => new Date(text)) }),
})
expectType<
  Equal<
    typeof crm,
    Job<'crm', { user: number }, { user: number }, never, { crmId: string; at: string }, { crmId: string; at: Date }>
  >
>()
stream.handle(crm, ({ input }) => ({ crmId: `crm-${input.user}`, at: '2026-03-01T12:00:00Z' }))
stream.handle(crm, ({ input, commit }) =>
  commit(async (client) => {
    await client.query('insert into account values ($1)', [input.user])
    return { crmId: `crm-${input.user}`, at: '2026-03-01T12:00:00Z' }
  }),
)
stream.handle(crm, async ({ input }) => (input.user < 0 ? TaskDecision.failure('nobody') : { crmId: 'a', at: 'b' }))
const rejected = defineJob('rejected', { input: json<{ user: number }>() })
const provision = defineJob('provision', { input: json<{ user: number }>(), next: [crm, rejected] })
stream.handle(provision, ({ input, next }) => (input.user < 0 ? next(rejected, input) : next(crm, input)))
const either = defineJob('either', { output: json<number>(), next: [crm] })
stream.handle(either, ({ next, tries }) => (tries > 1 ? 7 : next(crm, { user: 1 })))
const account = await stream.wait(crm, 'user 7')
expectType<Equal<typeof account, { crmId: string; at: Date }>>()
const provisioned = await stream.wait(provision, await stream.submit(provision, { user: 1 }), { timeoutMs: 60_000 })
expectType<Equal<typeof provisioned, { crmId: string; at: Date } | void>>()
const decided = await stream.wait(either, '@7', { signal: AbortSignal.timeout(1_000) })
expectType<Equal<typeof decided, number | { crmId: string; at: Date }>>()
const waited = await stream.wait(letter, 'Hello')
// Who watches jobs knows their names, and can go on with what is told.
for await (const event of stream.watch({ jobs: [letter, cleanup], states: ['failed'] })) {
  expectType<Equal<typeof event.job, 'letter' | 'cleanup'>>()
  if (event.job === 'letter') await stream.transaction((tx) => stream.retry(tx, letter, event.ref))
}
for await (const { job, ref } of stream.watch()) {
  expectType<Equal<typeof job, string>>()
  expectType<Equal<typeof ref, JobRef>>()
}
// In a queue there may be others.
for await (const { job } of stream.watch({ jobs: [letter], queues: [defineQueue('watched')] }))
  expectType<Equal<typeof job, string>>()
export const events: JobEvents<'letter'> = stream.watch({ jobs: [letter] })
export const watchOptions: WatchOptions<'letter'> = { jobs: [letter], everyMs: 100 }
export const describeEvent = ({ job, state, tries }: JobEvent): string => `${job} ${state} ${tries ?? '?'}`
expectType<Equal<typeof waited, void>>()
const details = await stream.get(tx, crm, 'user 7')
expectType<Equal<NonNullable<typeof details>['result'], { crmId: string; at: Date } | undefined>>()
expectType<Equal<EndOf<typeof crm | typeof letter>, { crmId: string; at: Date } | void>>()

// Versions: a push takes what the newest schema is given, and an upcast what the schema before it makes.
const Bill = versioned(z.object({ id: z.number(), at: z.iso.datetime().transform((text) => new Date(text)) }))
  .to(v.object({ id: v.number(), year: v.optional(v.number(), 2026) }), (old) => {
    expectType<Equal<typeof old, { id: number; at: Date }>>()
    return { id: old.id, year: old.at.getUTCFullYear() }
  })
  .to(type({ ref: 'string', day: 'string.date.parse' }), (old) => {
    expectType<Equal<typeof old, { id: number; year: number }>>()
    return { ref: `bill ${old.id}`, day: `${old.year}-01-01` }
  })
expectType<Equal<typeof Bill, VersionedSchema<{ ref: string; day: Date }, { ref: string; day: string }>>>()
const bill = defineJob('bill', { input: Bill, id: ({ ref }) => ref, key: ({ day }) => day })
expectType<Equal<typeof bill, Job<'bill', { ref: string; day: string }, { ref: string; day: Date }>>>()
await stream.push(tx, bill, { ref: 'bill 1', day: '2026-03-01' })
stream.handle(bill, ({ input }) => expectType<Equal<typeof input, { ref: string; day: Date }>>())
const bills = defineTopic('bills', { input: Bill, key: ({ ref }) => ref })
expectType<Equal<typeof bills, Topic<'bills', { ref: string; day: string }, { ref: string; day: Date }>>>()
const alone = defineJob('alone', { input: versioned(json<Letter>()) })
expectType<Equal<typeof alone, Job<'alone', Letter>>>()
const checks = await stream.check([bill, bills, cleanup], { limit: 100 })
expectType<Equal<typeof checks, CheckedDefinition[]>>()

// Of two definitions that lead to each other, one writes its type.
const ping: Job<'ping', number, number, 'pong'> = defineJob('ping', { input: json<number>(), next: () => [pong] })
const pong = defineJob('pong', { input: json<number>(), next: () => [ping] })
expectType<Equal<typeof pong, Job<'pong', number, number, 'ping'>>>()
stream.handle(ping, ({ input, next }) => next(pong, input + 1))

// Middleware is given jobs of any kind, and returns what the handler returned. Routes are given jobs by their names.
const mail = defineQueue('mail', { order: 'priority' })
expectType<Equal<typeof mail, Queue<'mail'>>>()
const welcome = defineJob('email:welcome', { queue: mail, input: json<{ to: string }>(), output: json<number>() })
expectType<Equal<typeof welcome, Job<'email:welcome', { to: string }, { to: string }, never, number>>>()
stream.use(async (job, next) => {
  expectType<Equal<typeof job.input, unknown>>()
  expectType<Equal<typeof job.name, string>>()
  const returned = await next()
  return job.tries > 1 ? TaskDecision.success() : returned
})
stream.use((_, next) => next())
stream.use(({ commit }) => commit((client) => expectType<Equal<typeof client, pg.PoolClient>>()))
stream.handle(welcome, ({ input }) => input.to.length, { use: [(_, next) => next()] })
stream.route(
  mail,
  {
    'email:*': ({ name, input, commit, next }) => {
      expectType<Equal<typeof name, string>>()
      expectType<Equal<typeof input, unknown>>()
      return name === 'email:lost'
        ? next(letter, { to: 'a', subject: 'b' })
        : commit((client) => expectType<Equal<typeof client, pg.PoolClient>>())
    },
  },
  { concurrency: 50, use: [(_, next) => next()] },
)
const byName: RouteHandler<pg.PoolClient> = ({ name }) => name
stream.route(mail, { '*': byName })
const welcomed = await stream.wait(welcome, await stream.submit(welcome, { to: 'a@example.org' }))
expectType<Equal<typeof welcomed, number>>()

// Transactions are those of the driver: in `commit`, in `transaction` and in every verb.
declare const betterDatabase: Database
declare const nodeDatabase: DatabaseSync
declare const mysqlPool: MysqlPool
declare const sql: Sql
declare const pglite: PGlite
declare const libsql: LibsqlClient
declare const oraclePool: oracledb.Pool
const note = defineJob('note', { input: json<string>() })

stream.handle(note, ({ commit }) => commit((client) => expectType<Equal<typeof client, pg.PoolClient>>()))
await stream.transaction(async (client) => {
  expectType<Equal<typeof client, pg.PoolClient>>()
  await stream.push(client, note, 'a')
})

const onMysql = mysqlStream(mysqlPool, { database: 'mariadb' })
onMysql.handle(note, ({ commit }) => commit((connection) => expectType<Equal<typeof connection, PoolConnection>>()))
expectType<Equal<JobRef<'note'>, Awaited<ReturnType<typeof pushOnMysql>>>>()
const pushOnMysql = (connection: PoolConnection) => onMysql.push(connection, note, 'a')

const onPostgresJs = postgresJsStream(sql)
onPostgresJs.handle(note, ({ commit }) => commit((begun) => expectType<Equal<typeof begun, TransactionSql>>()))
await sql.begin((begun) => onPostgresJs.push(begun, note, 'a'))

const onPglite = pgliteStream(pglite)
onPglite.handle(note, ({ commit }) => commit((begun) => expectType<Equal<typeof begun, PgliteTransaction>>()))
await pglite.transaction((begun) => onPglite.push(begun, note, 'a'))

const onLibsql = libsqlStream(libsql)
onLibsql.handle(note, ({ commit }) => commit((begun) => expectType<Equal<typeof begun, LibsqlTransaction>>()))
await onLibsql.push(await libsql.transaction('write'), note, 'a')

const onOracle = oracleStream(oraclePool, { oracledb })
onOracle.handle(note, ({ commit }) => commit((connection) => expectType<Equal<typeof connection, oracledb.Connection>>()))
await onOracle.push(await oraclePool.getConnection(), note, 'a')

// A synchronous driver returns values.
const onBetter = betterSqlite3Stream(betterDatabase)
onBetter.handle(note, ({ commit }) => commit((database) => expectType<Equal<typeof database, Database>>()))
const better = onBetter.push(betterDatabase, note, 'a')
expectType<Equal<typeof better, JobRef<'note'>>>()
const betterMany = onBetter.pushMany(betterDatabase, note, [['a'], ['b', { priority: 1 }]])
expectType<Equal<typeof betterMany, JobRef<'note'>[]>>()

const onNode = nodeSqliteStream(nodeDatabase)
onNode.handle(note, ({ commit }) => commit((database) => expectType<Equal<typeof database, DatabaseSync>>()))
const onNodePushed = onNode.push(nodeDatabase, note, 'a')
expectType<Equal<typeof onNodePushed, JobRef<'note'>>>()
const cancelled = onNode.cancel(nodeDatabase, note, onNodePushed)
expectType<Equal<typeof cancelled extends Promise<unknown> ? true : false, false>>()
const found = onNode.get(nodeDatabase, note, onNodePushed)
expectType<Equal<typeof found extends Promise<unknown> ? true : false, false>>()
const foundByTags = onNode.find(nodeDatabase, note, { tags: { tenant: 7 } })
expectType<Equal<typeof foundByTags, FoundJobs<'note', string>>>()
