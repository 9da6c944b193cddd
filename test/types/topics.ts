/** Typed topics give pushes, handlers and transactions their types, for every kind of schema and driver: compiled, never run. */
import { type } from 'arktype'
import type { Database } from 'better-sqlite3'
import type { PoolConnection, Pool as MysqlPool } from 'mysql2/promise'
import type pg from 'pg'
import * as v from 'valibot'
import { z } from 'zod'
import type { PushedTask } from '@taskstream/task-api'
import { defineTopic, json, TaskDecision } from 'taskstream'
import type { AnyTopic, JobTags, Topic, TopicHandler, TopicTask } from 'taskstream'
import { taskstream as betterSqlite3Stream } from 'taskstream/better-sqlite3'
import { taskstream as mysqlStream } from 'taskstream/mysql2'
import { taskstream } from 'taskstream/pg'

type Equal<Left, Right> = (<Type>() => Type extends Left ? 1 : 2) extends <Type>() => Type extends Right ? 1 : 2 ? true : false
/** Compiles if the types are equal: `expectType<Equal<typeof input, string>>()`. */
declare function expectType<True extends true>(): True

declare const pool: pg.Pool
declare const tx: pg.PoolClient
const stream = taskstream(pool)

interface Price {
  readonly symbol: string
  readonly price: number
}

// json<T>(): what is given is what the handler gets.
const prices = defineTopic('prices', {
  input: json<Price>(),
  key: ({ symbol }) => symbol,
  id: ({ symbol }) => symbol,
  keyed: true,
})
expectType<Equal<typeof prices, Topic<'prices', Price>>>()
const any: AnyTopic = prices
await stream.prepare(any, prices)
const typed = stream.topic(prices)
expectType<Equal<typeof typed.name, 'prices'>>()
const pushed = typed.push(tx, [{ symbol: 'EUR', price: 11.7 }], { insertion: 'supersede' })
expectType<Equal<typeof pushed, Promise<PushedTask[]>>>()
await typed.push(tx, [{ symbol: 'EUR', price: 11.7 }], {
  each: ({ price }, index) => ({ priority: Math.trunc(price), id: `${index}`, delayMs: 1_000, tags: { kind: 'rush' } }),
})
expectType<Equal<typeof pushed, ReturnType<typeof typed.submit>>>()
const [first] = await typed.submit([{ symbol: 'EUR', price: 11.7 }])
await typed.cancel(tx, { key: 'EUR' })
await typed.cancel(tx, first!)
await typed.reschedule(tx, '@7', { delayMs: 0 })

// A handler decides by what it returns, or completes in its transaction.
typed.process({
  handler: () => {},
  size: 500,
  concurrency: 2,
  mode: 'transactional',
  timeoutMs: 1_000,
  retainMs: { succeeded: 0 },
})
typed.process({ handler: async () => TaskDecision.success() })
typed.process({
  handler: (held, { signal, failed }) => {
    expectType<Equal<typeof held, readonly TopicTask<Price>[]>>()
    expectType<Equal<typeof signal, AbortSignal>>()
    return new Map(held.map((task) => [task, task.input.price > 0 ? TaskDecision.success() : failed(task, new Error('no'))]))
  },
})
typed.process({
  handler: (_, { complete }) =>
    complete(async (client, held) => {
      expectType<Equal<typeof client, pg.PoolClient>>()
      for (const { input, id, key, tags, tries, task } of held) {
        expectType<Equal<typeof input, Price>>()
        expectType<Equal<typeof tags, JobTags>>()
        await client.query('insert into price values ($1, $2)', [input.symbol, id, key, tries, task.identifier])
      }
    }),
})
typed.process({
  handler: async (held, { complete }) => {
    if (held.length === 0) return undefined
    return complete((_, still) => new Map(still.map((task) => [task, TaskDecision.success()])))
  },
})
// A handler may be written apart.
const store: TopicHandler<pg.PoolClient, Price> = (held, { complete }) =>
  complete(async (client) => void (await client.query('select 1', [held.length])))
typed.process({ handler: store })

// zod, valibot and arktype: keys and pushes take what is given, and handlers get what the schema makes of it.
const zodTopic = defineTopic('zod', {
  input: z.object({ at: z.iso.datetime().transform((text) => new Date(text)), count: z.number().default(1) }),
  key: ({ at, count = 0 }) => `${at.toUpperCase()} ${count.toFixed()}`,
})
expectType<Equal<typeof zodTopic, Topic<'zod', { at: string; count?: number | undefined }, { at: Date; count: number }>>>()
await stream.topic(zodTopic).push(tx, [{ at: '2026-03-01T12:00:00Z' }])
stream.topic(zodTopic).process({
  handler: (held) => {
    for (const { input } of held) expectType<Equal<typeof input, { at: Date; count: number }>>()
  },
})
const valibotTopic = defineTopic('valibot', { input: v.object({ at: v.string() }), condition: 'singular-by-identifier' })
expectType<Equal<typeof valibotTopic, Topic<'valibot', { at: string }>>>()
await stream.topic(valibotTopic).submit([{ at: '' }], { each: ({ at }) => ({ key: at }) })
const arktypeTopic = defineTopic('arktype', { input: type({ at: 'string.date.parse' }), order: 'lifo' })
expectType<Equal<typeof arktypeTopic, Topic<'arktype', { at: string }, { at: Date }>>>()

// Inputs that are lists, or that nobody knows.
const lists = defineTopic('lists', { input: json<readonly number[]>() })
await stream.topic(lists).push(tx, [[1, 2], [3]])
const unknown = defineTopic('unknown', { input: json<unknown>() })
await stream.topic(unknown).push(tx, [1, 'a', { b: 2 }])
const optional = defineTopic('optional', { input: z.object({ to: z.string() }).default({ to: 'all' }) })
await stream.topic(optional).push(tx, [{ to: 'a' }])

// Transactions are those of the driver, and a synchronous driver returns values.
declare const betterDatabase: Database
declare const mysqlPool: MysqlPool
const onBetter = betterSqlite3Stream(betterDatabase).topic(prices)
const values = onBetter.push(betterDatabase, [{ symbol: 'EUR', price: 1 }])
expectType<Equal<typeof values, PushedTask[]>>()
const cancelled = onBetter.cancel(betterDatabase, values[0]!)
expectType<Equal<typeof cancelled extends Promise<unknown> ? true : false, false>>()
onBetter.process({ handler: (_, { complete }) => complete((database) => void expectType<Equal<typeof database, Database>>()) })
mysqlStream(mysqlPool, { database: 'mariadb' })
  .topic(prices)
  .process({ handler: (_, { complete }) => complete((client) => void expectType<Equal<typeof client, PoolConnection>>()) })
