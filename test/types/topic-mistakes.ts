/** Mistakes with typed topics that the compiler finds: compiled, never run. */
import type pg from 'pg'
import { z } from 'zod'
import { defineJob, defineTopic, json, TaskDecision } from 'taskstream'
import { taskstream } from 'taskstream/pg'

declare const pool: pg.Pool
declare const tx: pg.PoolClient

const stream = taskstream(pool)
const prices = defineTopic('prices', { input: json<{ symbol: string; price: number }>(), key: ({ symbol }) => symbol })
const topic = stream.topic(prices)
const job = defineJob('job', { input: json<number>() })

// ---- Pushes

// A part of an input is missing.
// @ts-expect-error
await topic.push(tx, [{ symbol: 'EUR' }])
// A name in an input is misspelt.
// @ts-expect-error
await topic.push(tx, [{ symbol: 'EUR', price: 1, prize: 1 }])
// One input stands in place of a list.
// @ts-expect-error
await topic.push(tx, { symbol: 'EUR', price: 1 })
// The transaction is forgotten.
// @ts-expect-error
await topic.push([{ symbol: 'EUR', price: 1 }])
// A pool stands in place of a transaction.
// @ts-expect-error
await topic.push(pool, [{ symbol: 'EUR', price: 1 }])
// There is no such insertion.
// @ts-expect-error
await topic.push(tx, [], { insertion: 'upsert' })
// There is no such option of a task.
// @ts-expect-error
await topic.submit([{ symbol: 'EUR', price: 1 }], { each: () => ({ delay: 1 }) })
// Options are made of what is not in the input.
// @ts-expect-error
await topic.submit([{ symbol: 'EUR', price: 1 }], { each: ({ at }) => ({ key: at }) })
// The input is undefined, of which there is no JSON.
// @ts-expect-error
await stream.topic(defineTopic('a', { input: z.string().default('') })).push(tx, [undefined])
// A topic stands in place of a job, and a job in place of a topic.
// @ts-expect-error
await stream.push(tx, prices, { symbol: 'EUR', price: 1 })
// @ts-expect-error
stream.topic(job)
// @ts-expect-error
stream.topic('prices')

// ---- Definitions

// A topic has no input.
// @ts-expect-error
defineTopic('a', { keyed: true })
// There is no such option of a topic.
// @ts-expect-error
defineTopic('a', { input: json<number>(), ordered: true })
// There is no such condition.
// @ts-expect-error
defineTopic('a', { input: json<number>(), condition: 'singular' })
// A key is made of what is not in the input.
// @ts-expect-error
defineTopic('a', { input: json<{ to: string }>(), key: ({ from }) => from })
// A date becomes text: "input.at would not come back from JSON".
// @ts-expect-error
defineTopic('a', { input: z.object({ at: z.date() }) })
// A big number deep inside: "input.deep.big would not come back from JSON".
// @ts-expect-error
defineTopic('a', { input: json<{ deep: { big: bigint } }>() })

// ---- Handlers

// There is no such option.
// @ts-expect-error
topic.process({ handler: () => {}, retry: () => 1 })
// There is no handler.
// @ts-expect-error
topic.process({ size: 3 })
// A handler reads what is not in the input.
// @ts-expect-error
topic.process({ handler: (held) => void held.map(({ input }) => input.from) })
// A handler returns a list.
// @ts-expect-error
topic.process({ handler: (held) => held.map(() => TaskDecision.success()) })
// A handler decides of what is no typed task.
// @ts-expect-error
topic.process({ handler: (held) => new Map(held.map(({ task }) => [task, TaskDecision.success()])) })
// The work returns a list.
// @ts-expect-error
topic.process({ handler: (_, { complete }) => complete((_, held) => held.map(() => TaskDecision.success())) })
// The work writes in a transaction of another driver.
// @ts-expect-error
topic.process({ handler: (_, { complete }) => complete((other: { run(): void }) => other.run()) })
// The work completes once more.
// @ts-expect-error
topic.process({ handler: (_, { complete }) => complete(() => complete(() => {})) })

// ---- References

// A number is no id.
// @ts-expect-error
await topic.cancel(tx, 7)
// There is no such selector.
// @ts-expect-error
await topic.cancel(tx, { identifier: 'EUR' })
