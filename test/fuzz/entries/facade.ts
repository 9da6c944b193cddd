/** The front door: definitions of jobs, queues and topics, and what a stream does with them. */
import { defineJob, defineQueue, defineTopic, exponential, json, taskstream } from 'taskstream/better-sqlite3'
import type Database from 'better-sqlite3'
import * as fc from 'fast-check'
import { openBetterSqlite3 } from '@taskstream/task-sql/better-sqlite3'
import type { TaskErrorCode } from '@taskstream/task-api'
import { some } from '../draw.ts'
import type { FuzzedCall, FuzzedWorld } from '../property.ts'
import { jobs, keyed, needing, plain, prices, queue, queued } from './facade-jobs.ts'

const names = fc.constantFrom('a', '__proto__', 'constructor', 'x'.repeat(250), '\u202E', "'")
const ids = fc.constantFrom('first', 'id 1', '__proto__', '@1', '@9007199254740991', 'x'.repeat(500))
const instants = fc.constantFrom(new Date(0), new Date(8e12), new Date('9999-12-31T23:59:59.999Z'))
const durations = fc.constantFrom(0, 1, 3_153_600_000_000)
const tags = fc.constantFrom({}, { tenant: 7 }, { constructor: 'a', b: true })
const retry = fc.constant(exponential({ tries: 2, firstMs: 5 }))
const shared = {
  retry,
  maxTries: fc.constantFrom(1, 32_767),
  deadlineMs: durations,
}

const job = fc.constantFrom('plain', 'keyed', 'queued').map((name) => jobs[name as keyof typeof jobs])

const pushed = fc.oneof(
  some({
    id: fc.constantFrom('a', 'x'.repeat(500)),
    due: instants,
    deadline: instants,
    priority: fc.constant(-32_767),
    maxTries: fc.constant(1),
    tags,
    timeoutMs: fc.constantFrom(1, 86_400_000),
  }),
  some({ delayMs: durations, deadlineMs: durations, suspended: fc.boolean() }),
)
const changedCodes: readonly TaskErrorCode[] = [
  'TOPIC_UNKNOWN',
  'TOPIC_NOT_KEYED',
  'INPUT_INVALID',
  'TASK_STATE',
  'TASK_DUPLICATE',
  'TIMER_INVALID',
  'LIFECYCLE',
  'WAIT_TIMEOUT',
  'JOB_ENDED',
]

export async function openFacade(): Promise<FuzzedWorld> {
  const database = (await openBetterSqlite3(':memory:')) as never
  // A stream sets up its connection, which cannot be done in a transaction.
  const other = await openBetterSqlite3(':memory:')
  const newStream = (options: object = {}): ReturnType<typeof taskstream<never>> =>
    taskstream(other as never, { listen: false, ...options } as never) as never
  const stream = taskstream(database, { listen: false } as never) as ReturnType<typeof newStream>
  await stream.prepare(plain, keyed, queued, needing, prices)
  const sqlite = database as Database.Database
  sqlite.exec('begin')
  for (const one of Object.values(jobs)) {
    stream.push(database, one as typeof plain, { a: 1 }, { id: `first ${one.name}` })
    for (let a = 0; a < 5; a++) stream.push(database, one as typeof plain, { a }, { tags: { tenant: a } })
  }
  const changes = sqlite.prepare('select total_changes()').pluck()
  const call = <Drawn>(
    name: string,
    drawn: fc.Arbitrary<Drawn>,
    fuzzed: (...args: never[]) => unknown,
    codes: readonly TaskErrorCode[] = [],
    args: (drawn: Drawn) => readonly unknown[] = (drawn) => drawn as readonly unknown[],
    more: Partial<FuzzedCall> = {},
  ): FuzzedCall => ({ name, drawn: drawn as never, args: args as never, call: fuzzed, codes, changedCodes, ...more })
  /** A verb in the transaction of the case. */
  const verb = (
    name: 'push' | 'pushMany' | 'cancel' | 'reschedule' | 'get' | 'attempts' | 'list' | 'find' | 'retry',
  ): ((...given: never[]) => unknown) => {
    return (...given) => (stream[name] as (...given: unknown[]) => unknown).call(stream, database, ...given)
  }
  const input = fc.constantFrom({ a: 1 }, { a: -0 }, { a: 1e308 }, JSON.parse('{"a":1,"__proto__":{"b":1}}') as object)
  const mayMiss: readonly TaskErrorCode[] = ['ARGUMENT_INVALID', 'TASK_STATE']
  const selectors = fc.oneof(
    ids,
    job.map(({ name }) => `first ${name}`),
  )
  const typed = stream.topic(prices)
  return {
    calls: [
      call(
        'defineJob',
        fc.tuple(
          names,
          some({
            ...shared,
            priority: fc.constant(5),
            tags,
            timeoutMs: fc.constant(5),
            maxRunMs: fc.constant(604_800_000),
            order: fc.constantFrom('fifo', 'lifo', 'priority'),
          }),
        ),
        defineJob as never,
        [],
        ([name, rest]) => [name, { input: json(), output: json(), key: () => 'a', id: () => 'b', next: [plain], ...rest }],
      ),
      call(
        'defineJob by the clock',
        fc.tuple(names, fc.constantFrom('daily', 'cron:* * * * *', 'every:PT1S')),
        defineJob as never,
        [],
        ([name, timer]) => [name, { timer }],
      ),
      call('defineJob in a queue', fc.tuple(names.filter((name) => !name.includes('*'))), defineJob as never, [], ([name]) => [
        name,
        { queue, key: () => 'a', needs: { part: plain } },
      ]),
      call('defineJob with limits', fc.tuple(names), defineJob as never, [], ([name]) => [
        name,
        {
          key: () => 'a',
          limits: { total: 5, rate: { count: 1, perMs: 1 }, maxEntries: { count: 1 }, deadLetter: 'dead', perKey: 2 },
        },
      ]),
      call(
        'defineQueue',
        fc.tuple(
          names,
          some({
            ...shared,
            timeoutMs: fc.constant(5),
            order: fc.constantFrom('fifo', 'priority'),
            keyed: fc.constant(true),
            ordered: fc.boolean(),
            signed: fc.constantFrom('optional', 'required'),
          }),
        ),
        defineQueue as never,
      ),
      call(
        'defineTopic',
        fc.tuple(
          names,
          some({
            ...shared,
            tags,
            order: fc.constantFrom('fifo', 'lifo'),
            condition: fc.constantFrom('none', 'singular-by-identifier'),
          }),
        ),
        defineTopic as never,
        [],
        ([name, rest]) => [name, { input: json(), key: () => 'a', id: () => 'b', ...rest }],
      ),
      call(
        'taskstream',
        fc.tuple(
          some({
            migrate: fc.boolean(),
            application: names.map((name) => name.slice(0, 200)),
            heartbeatIntervalMs: fc.constant(10),
            keepAttemptsMs: durations,
            keepAuditMs: durations,
          }),
        ),
        (given: never) => taskstream(other as never, short(given)),
        [],
        ([rest]) => [{ listen: false, ...rest }],
      ),
      call('push', fc.tuple(job, input, pushed), verb('push')),
      call(
        'push with needs',
        fc.tuple(fc.nat(3)),
        verb('push'),
        [],
        ([count]) => [
          needing,
          undefined,
          { needs: { part: { job: 'plain', id: '@1', topic: 'plain', sequence: count + 1 } } },
          // Whether what it needs was pushed later is known only once it is pushed.
        ],
        { isWild: true, writtenWith: ['ARGUMENT_INVALID'] },
      ),
      call('pushMany', fc.tuple(job, fc.array(fc.tuple(input, pushed), { maxLength: 3 })), verb('pushMany')),
      call('cancel', fc.tuple(job, selectors), verb('cancel'), mayMiss),
      call('cancel by key', fc.tuple(fc.constant(keyed), names), verb('cancel'), [], ([one, key]) => [one, { key }]),
      call(
        'reschedule',
        fc.tuple(job, selectors, fc.constantFrom({ delayMs: 5 }, { due: new Date(0), priority: 1 })),
        verb('reschedule'),
        mayMiss,
      ),
      call('get', fc.tuple(job, selectors), verb('get'), mayMiss),
      call('attempts', fc.tuple(job, selectors), verb('attempts'), mayMiss),
      call(
        'list',
        fc.tuple(job, some({ size: fc.integer({ min: 1, max: 100_000 }), identifier: names, states: fc.constant(['ready']) })),
        verb('list'),
      ),
      call(
        'find',
        fc.tuple(job, some({ size: fc.integer({ min: 1, max: 100_000 }), limit: fc.integer({ min: 1, max: 100_000 }) })),
        verb('find'),
        [],
        ([one, rest]) => [one, { tags: { tenant: 3 }, ...rest }],
      ),
      call('retry', fc.tuple(job, selectors), verb('retry'), mayMiss),
      call(
        'topic',
        fc.tuple(),
        (definition: never) => stream.topic(definition),
        [],
        () => [prices],
      ),
      call(
        'topic.push',
        fc.tuple(
          fc.array(input, { maxLength: 3 }),
          some({
            insertion: fc.constantFrom('append', 'supersede', 'replace', 'delete'),
            each: fc.constant(() => ({ priority: 1 })),
          }),
        ),
        (inputs: never, given: never) => typed.push(database, inputs, given),
      ),
      call(
        'topic.cancel',
        fc.tuple(
          fc.oneof(
            ids,
            names.map((key) => ({ key })),
          ),
        ),
        (which: never) => typed.cancel(database, which),
        mayMiss,
      ),
      call(
        'handle',
        fc.tuple(
          some({
            concurrency: fc.integer({ min: 1, max: 10_000 }),
            share: fc.integer({ min: 1, max: 1_000 }),
            mode: fc.constantFrom('leased', 'transactional'),
            idleMs: fc.constant(5),
            use: fc.constant([]),
          }),
        ),
        (one: never, handler: never, given: never) => newStream().handle(one, handler, given),
        ['POOL_TOO_SMALL'],
        ([rest]) => [plain, () => {}, rest],
      ),
      call(
        'route',
        fc.tuple(),
        (one: never, routes: never, given: never) => newStream().route(one, routes, given),
        [],
        () => [queue, { queued: () => {}, 'q*': () => {} }, {}],
      ),
      call(
        'use',
        fc.tuple(),
        (middleware: never) => newStream().use(middleware),
        [],
        () => [(_job: never, next: () => never) => next()],
      ),
      call(
        'watch',
        fc.tuple(some({ states: fc.constant(['ready']), everyMs: fc.integer({ min: 100, max: 60_000 }) })),
        (given: never) => void stream.watch(given).return(),
        [],
        ([rest]) => [{ jobs: [plain], queues: [queue], ...rest }],
      ),
      call(
        'wait',
        fc.tuple(some({ timeoutMs: fc.constant(0) })),
        async (one: never, which: never, given: never) => {
          const waited = stream.wait(one, which, given)
          const refused = waited.catch((error: unknown) => {
            if (!(error instanceof Error && error.message.includes('within a transaction'))) throw error
          })
          refused.catch(() => {})
          // The transaction of the case is open. What is refused is refused before one begins.
          await Promise.race([refused, new Promise((resolve) => setImmediate(resolve))])
        },
        ['LIFECYCLE', 'WAIT_TIMEOUT'],
        ([rest]) => [plain, 'first plain', { timeoutMs: 0, ...rest }],
        { isAsync: true },
      ),
    ],
    begin: () => void sqlite.exec('savepoint fuzz'),
    writes: () => changes.get() as number,
    end: () => void sqlite.exec('rollback to fuzz; release fuzz'),
    [Symbol.asyncDispose]: async () => {
      await stream.stop().catch(() => {})
      sqlite.close()
    },
  }
}

/** A long text that is taken apart into its characters, as options, takes long, and null has no options. No program passes either. */
function short<Given>(given: Given): Given {
  return typeof given === 'string' ? (given.slice(0, 100) as Given) : (given ?? ({} as Given))
}
