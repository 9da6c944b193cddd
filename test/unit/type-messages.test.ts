/** What the compiler says of mistakes with jobs and typed topics: the last line of a message is in the user's own words, or says what to do. */
import { expect, test } from 'vitest'
import { compile } from '../compile.ts'

/** What stands before every mistake. */
const prelude = `
import type pg from 'pg'
import { z } from 'zod'
import { defineJob, defineTopic, json, versioned } from 'taskstream'
import type { JobRef, Stream } from 'taskstream'

declare const pool: pg.Pool
declare const tx: pg.PoolClient
declare const ref: JobRef<'letter'>
declare const stream: Stream<pg.PoolClient>
const letter = defineJob('letter', { input: json<{ to: string; subject: string }>() })
const cleanup = defineJob('cleanup')
const order = defineJob('order', { input: json<number>(), next: [letter, cleanup] })
const prices = defineTopic('prices', { input: json<{ symbol: string; price: number }>(), key: ({ symbol }) => symbol })
`

/** The last line of what the compiler says of each text, by the text. */
function lastLines(texts: readonly string[]): Record<string, string> {
  const { messages } = compile(texts.map((text) => prelude + text))
  return Object.fromEntries(texts.map((text, index) => [text, messages[index]!.map((lines) => lines.at(-1)!.trim()).join('\n')]))
}

test('the last line of a message is in the words of the user', () => {
  const lines = lastLines([
    `stream.push(tx, letter, { to: 'a' })`,
    `stream.push(tx, letter, { to: 'a', subject: 'b', suject: 'b' })`,
    `stream.push(tx, letter, { delayMs: 1 })`,
    `stream.push(tx, cleanup, { to: 'a' })`,
    `stream.pushMany(tx, letter, [[{ to: 'a' }]])`,
    `stream.push(pool, cleanup)`,
    `stream.cancel(tx, cleanup, ref)`,
    `defineJob('a', { retries: 3 })`,
    `defineJob('a', { input: z.object({ at: z.date() }) })`,
    `defineJob('a', { input: json<{ deep: { big: bigint } }>() })`,
    `defineJob('a', { input: json<{ list: Map<string, string>[] }>() })`,
    `defineJob('a', { input: json<() => void>() })`,
    `defineJob('a', { input: json<number>(), timer: '03:00' })`,
    `defineJob('a', { input: json<{ to: string }>(), key: ({ from }) => from })`,
    `stream.handle(letter, ({ input }: { input: { to: number } }) => input.to)`,
    `stream.handle(order, () => {})`,
    `stream.handle(order, ({ commit }) => commit(async (tx) => void (await tx.query('select 1'))))`,
    `stream.handle(order, ({ next }) => next(letter, { to: 'a' }))`,
    `stream.handle(letter, ({ next }) => next(cleanup))`,
  ])
  expect(lines).toMatchInlineSnapshot(`
    {
      "defineJob('a', { input: json<() => void>() })": "Type 'InputSchema<() => void, () => void>' is not assignable to type '"input would not come back from JSON"'.",
      "defineJob('a', { input: json<number>(), timer: '03:00' })": "Type '"03:00"' is not assignable to type '"a job with an input has no timer"'.",
      "defineJob('a', { input: json<{ deep: { big: bigint } }>() })": "Type 'InputSchema<{ deep: { big: bigint; }; }, { deep: { big: bigint; }; }>' is not assignable to type '"input.deep.big would not come back from JSON"'.",
      "defineJob('a', { input: json<{ list: Map<string, string>[] }>() })": "Type 'InputSchema<{ list: Map<string, string>[]; }, { list: Map<string, string>[]; }>' is not assignable to type '"input.list[] would not come back from JSON"'.",
      "defineJob('a', { input: json<{ to: string }>(), key: ({ from }) => from })": "Property 'from' does not exist on type '{ to: string; }'.",
      "defineJob('a', { input: z.object({ at: z.date() }) })": "Type 'ZodObject<{ at: ZodDate; }, $strip>' is not assignable to type '"input.at would not come back from JSON"'.",
      "defineJob('a', { retries: 3 })": "Object literal may only specify known properties, and 'retries' does not exist in type 'JobOptions<void, void, never, void, void, void>'.",
      "stream.cancel(tx, cleanup, ref)": "Type '"letter"' is not assignable to type '"cleanup"'.",
      "stream.handle(letter, ({ input }: { input: { to: number } }) => input.to)": "Type 'string' is not assignable to type 'number'.",
      "stream.handle(letter, ({ next }) => next(cleanup))": "Type '"cleanup"' is not assignable to type '"letter"'.",
      "stream.handle(order, () => {})": "Type 'void' is not assignable to type 'JobCommit<PoolClient> | JobContinuation | TaskDecision | Promise<JobCommit<PoolClient> | JobContinuation | TaskDecision>'.",
      "stream.handle(order, ({ commit }) => commit(async (tx) => void (await tx.query('select 1'))))": "Type 'undefined' is not assignable to type 'JobContinuation | TaskDecision'.",
      "stream.handle(order, ({ next }) => next(letter, { to: 'a' }))": "Property 'subject' is missing in type '{ to: string; }' but required in type '{ to: string; subject: string; }'.",
      "stream.push(pool, cleanup)": "Type 'Pool' is missing the following properties from type 'PoolClient': release, port, host, ssl, and 11 more.",
      "stream.push(tx, cleanup, { to: 'a' })": "Argument of type '{ to: string; }' is not assignable to parameter of type 'undefined'.",
      "stream.push(tx, letter, { delayMs: 1 })": "Object literal may only specify known properties, and 'delayMs' does not exist in type '{ to: string; subject: string; }'.",
      "stream.push(tx, letter, { to: 'a' })": "Property 'subject' is missing in type '{ to: string; }' but required in type '{ to: string; subject: string; }'.",
      "stream.push(tx, letter, { to: 'a', subject: 'b', suject: 'b' })": "Object literal may only specify known properties, but 'suject' does not exist in type '{ to: string; subject: string; }'. Did you mean to write 'subject'?",
      "stream.pushMany(tx, letter, [[{ to: 'a' }]])": "Property 'subject' is missing in type '{ to: string; }' but required in type '{ to: string; subject: string; }'.",
    }
  `)
})

test('the last line of a message about a typed topic is in the words of the user too', () => {
  const lines = lastLines([
    `stream.topic(prices).push(tx, [{ symbol: 'EUR' }])`,
    `stream.topic(prices).push(tx, [{ symbol: 'EUR', price: 1, prize: 1 }])`,
    `stream.topic(prices).push(tx, { symbol: 'EUR', price: 1 })`,
    `stream.topic(prices).push(pool, [{ symbol: 'EUR', price: 1 }])`,
    `stream.topic(prices).push(tx, [], { insertion: 'upsert' })`,
    `stream.topic(prices).push(tx, [], { each: () => ({ delay: 1 }) })`,
    `stream.push(tx, prices, { symbol: 'EUR', price: 1 })`,
    `stream.topic(cleanup)`,
    `defineTopic('a', { keyed: true })`,
    `defineTopic('a', { input: json<number>(), ordered: true })`,
    `defineTopic('a', { input: z.object({ at: z.date() }) })`,
    `defineTopic('a', { input: json<{ to: string }>(), key: ({ from }) => from })`,
    `stream.topic(prices).process({ size: 3 })`,
    `stream.topic(prices).process({ handler: (held) => void held.map(({ input }) => input.from) })`,
    `stream.topic(prices).process({ handler: (held) => held.map(() => 1) })`,
    `stream.topic(prices).process({ handler: (_, { complete }) => complete((_, held) => held.length) })`,
  ])
  expect(lines).toMatchInlineSnapshot(`
    {
      "defineTopic('a', { input: json<number>(), ordered: true })": "Object literal may only specify known properties, but 'ordered' does not exist in type 'TypedTopicOptions<number, number>'. Did you mean to write 'order'?",
      "defineTopic('a', { input: json<{ to: string }>(), key: ({ from }) => from })": "Property 'from' does not exist on type '{ to: string; }'.",
      "defineTopic('a', { input: z.object({ at: z.date() }) })": "Type 'ZodObject<{ at: ZodDate; }, $strip>' is not assignable to type '"input.at would not come back from JSON"'.",
      "defineTopic('a', { keyed: true })": "Property 'input' is missing in type '{ keyed: true; }' but required in type 'TypedTopicOptions<unknown, unknown>'.",
      "stream.push(tx, prices, { symbol: 'EUR', price: 1 })": "Type 'TopicSettings' is missing the following properties from type 'JobSettings': output, next, timeoutMs, maxRunMs, timer",
      "stream.topic(cleanup)": "Type '"job"' is not assignable to type '"topic"'.",
      "stream.topic(prices).process({ handler: (_, { complete }) => complete((_, held) => held.length) })": "Type 'number' is not assignable to type 'TopicOutcome<{ symbol: string; price: number; }> | Promise<TopicOutcome<{ symbol: string; price: number; }>>'.",
      "stream.topic(prices).process({ handler: (held) => held.map(() => 1) })": "Type 'number[]' is missing the following properties from type 'ReadonlyMap<TopicTask<{ symbol: string; price: number; }>, TaskDecision>': get, has, size",
      "stream.topic(prices).process({ handler: (held) => void held.map(({ input }) => input.from) })": "Property 'from' does not exist on type '{ symbol: string; price: number; }'.",
      "stream.topic(prices).process({ size: 3 })": "Property 'handler' is missing in type '{ size: number; }' but required in type 'TopicProcessOptions<PoolClient, { symbol: string; price: number; }>'.",
      "stream.topic(prices).push(pool, [{ symbol: 'EUR', price: 1 }])": "Type 'Pool' is missing the following properties from type 'PoolClient': release, port, host, ssl, and 11 more.",
      "stream.topic(prices).push(tx, [], { each: () => ({ delay: 1 }) })": "Type '{ delay: number; }' has no properties in common with type 'JobPushOptions'.",
      "stream.topic(prices).push(tx, [], { insertion: 'upsert' })": "Type '"upsert"' is not assignable to type 'Insertion | undefined'.",
      "stream.topic(prices).push(tx, [{ symbol: 'EUR' }])": "Property 'price' is missing in type '{ symbol: string; }' but required in type '{ symbol: string; price: number; }'.",
      "stream.topic(prices).push(tx, [{ symbol: 'EUR', price: 1, prize: 1 }])": "Object literal may only specify known properties, but 'prize' does not exist in type '{ symbol: string; price: number; }'. Did you mean to write 'price'?",
      "stream.topic(prices).push(tx, { symbol: 'EUR', price: 1 })": "Object literal may only specify known properties, and 'symbol' does not exist in type 'readonly { symbol: string; price: number; }[]'.",
    }
  `)
})

test('the last line of a message about versions is in the words of the user too', () => {
  const lines = lastLines([
    `versioned(json<{ id: number }>()).to(json<{ id: number; currency: string }>(), (old) => ({ ...old }))`,
    `versioned(json<{ id: number }>()).to(z.object({ id: z.string() }), (old) => old)`,
    `versioned(json<{ id: number }>()).to(json<{ id: number }>(), async (old) => old)`,
    `versioned(json<{ id: number }>()).to(z.object({ at: z.date() }), () => ({ at: new Date() }))`,
    `versioned(z.object({ at: z.date() }))`,
  ])
  expect(lines).toMatchInlineSnapshot(`
    {
      "versioned(json<{ id: number }>()).to(json<{ id: number }>(), async (old) => old)": "Property 'id' is missing in type 'Promise<{ id: number; }>' but required in type '{ id: number; }'.",
      "versioned(json<{ id: number }>()).to(json<{ id: number; currency: string }>(), (old) => ({ ...old }))": "Property 'currency' is missing in type '{ id: number; }' but required in type '{ id: number; currency: string; }'.",
      "versioned(json<{ id: number }>()).to(z.object({ at: z.date() }), () => ({ at: new Date() }))": "Property 'input' is missing in type 'ZodObject<{ at: ZodDate; }, $strip>' but required in type '{ readonly input: "input.at would not come back from JSON"; }'.",
      "versioned(json<{ id: number }>()).to(z.object({ id: z.string() }), (old) => old)": "Type 'number' is not assignable to type 'string'.",
      "versioned(z.object({ at: z.date() }))": "Property 'input' is missing in type 'ZodObject<{ at: ZodDate; }, $strip>' but required in type '{ readonly input: "input.at would not come back from JSON"; }'.",
    }
  `)
})
