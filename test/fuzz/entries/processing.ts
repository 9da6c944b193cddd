/** What is told to a node: its options, its topics, streams, pipelines and buffers. Nothing is started. */
import { buffering, composite, eachTask, TaskNode, limitTransactions } from '@taskstream/task-processor'
import { sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import * as fc from 'fast-check'
import { some } from '../draw.ts'
import type { FuzzedCall, FuzzedWorld } from '../property.ts'
import { openWorld } from './verbs-world.ts'

const texts = fc.constantFrom('a', '__proto__', 'constructor', 'x'.repeat(100), '\u202E')
const handler = (): void => {}
const onClose = fc.constantFrom('handle', 'return', 'fail')
const processed = some({
  size: fc.integer({ min: 1, max: 10_000 }),
  concurrency: fc.integer({ min: 1, max: 10_000 }),
  mode: fc.constantFrom('leased', 'transactional'),
  activation: fc.constantFrom('active', 'inactive', 'ignored'),
  share: fc.integer({ min: 1, max: 1_000 }),
  shares: fc.record({ high: fc.integer({ min: 1, max: 1_000 }), low: fc.integer({ min: 1, max: 1_000 }) }),
  retry: fc.constant(() => 5),
  timeoutMs: fc.constantFrom(1, 20_000),
  abortMs: fc.constantFrom(0, 10_000),
  idleMs: fc.constantFrom(1, 86_400_000),
  retainMs: fc.constantFrom({}, { succeeded: 0, failed: 3_153_600_000_000 }),
  limits: fc.constantFrom({ total: 5 }, { rate: { count: 1, perMs: 1 } }),
  order: fc.constantFrom('fifo', 'lifo', 'priority'),
  condition: fc.constantFrom('none', 'singular-by-identifier'),
})

export async function openProcessing(): Promise<FuzzedWorld> {
  const world = await openWorld()
  const { tasks, database } = world
  const transactions = sqliteTransactions(database as never)
  const repository = { ...tasks, execution: 'sync' } as const
  const newNode = (): TaskNode<unknown> => new TaskNode({ repository, transactions } as never)
  const call = <Drawn>(
    name: string,
    drawn: fc.Arbitrary<Drawn>,
    fuzzed: (...args: never[]) => unknown,
    more: Partial<FuzzedCall> = {},
    args: (drawn: Drawn) => readonly unknown[] = (drawn) => drawn as readonly unknown[],
  ): FuzzedCall => ({ name, drawn: drawn as never, args: args as never, call: fuzzed, codes: [], ...more })
  const options = some({
    heartbeatIntervalMs: fc.constantFrom(10, 5_000),
    leaseMs: fc.constantFrom(30_000, 604_800_000),
    maintenanceIntervalMs: fc.constantFrom(10, 86_400_000),
    statementTimeoutMs: fc.constantFrom(100, 86_400_000),
    refreshIntervalMs: fc.constantFrom(60_000, 604_800_000),
    expireTo: fc.constantFrom('ready', 'expired'),
    keepAttemptsMs: fc.constantFrom(0, 3_153_600_000_000),
    keepAuditMs: fc.constantFrom(0, 3_153_600_000_000),
    exclusive: fc.boolean(),
    blockedMs: fc.constantFrom(10, 86_400_000),
    listener: fc.constantFrom({}, [], [{ onError: handler }]),
    limiter: fc.constant({ acquire: async () => () => {} }),
  })
  return {
    ...world,
    calls: [
      call(
        'new TaskNode',
        fc.tuple(options),
        (given: never) => new TaskNode(given),
        {},
        ([rest]) => [{ repository, transactions, ...rest }],
      ),
      call(
        'process',
        fc.tuple(texts, processed),
        (topic: never, given: never) => newNode().process(topic, given),
        {},
        ([topic, rest]) => [topic, { handler, ...rest }],
      ),
      call(
        'stream',
        fc.tuple(
          texts,
          processed.map((one) => ({ ...one, mode: 'leased' })),
        ),
        async (topic: never, given: never) => {
          const node = newNode()
          const batches = node.stream(topic, given)
          const first = batches.next()
          first.catch(() => {})
          // A topic that cannot be processed is refused when the first batch is asked for.
          await Promise.race([first, new Promise(setImmediate)])
          // The topic was never opened, so nothing waits for an end.
          void batches.return()
        },
        { isAsync: true, codes: ['SHUTDOWN', 'LIFECYCLE'] },
      ),
      call(
        'buffering',
        fc.tuple(some({ pendingOnClose: onClose, observer: fc.constant(handler) })),
        (given: never) => buffering(given).open('a'),
        {},
        ([rest]) => [{ buffer: 5, workers: 2, handler, ...rest }],
      ),
      call(
        'composite',
        fc.tuple(
          some({
            concurrency: fc.nat(100),
            pendingOnClose: onClose,
            contexts: fc.constant([]),
            supplement: fc.constant(handler),
            decorate: fc.constant((_: never, run: never) => run),
          }),
        ),
        (given: never) => composite(given).toMermaid(),
      ),
      call(
        'each',
        fc.tuple(texts, some({ after: fc.constant(['first']), concurrency: fc.integer({ min: 1, max: 10_000 }) })),
        (id: never, step: never, given: never) => composite().batch('first', handler).each(id, step, given).toMermaid(),
        {},
        ([id, rest]) => [id, handler, rest],
      ),
      call(
        'batch',
        fc.tuple(texts, some({ after: fc.constant(['first']) })),
        (id: never, step: never, given: never) => composite().each('first', handler).batch(id, step, given).toMermaid(),
        {},
        ([id, rest]) => [id, handler, rest],
      ),
      call(
        'eachTask',
        fc.tuple(
          some({
            concurrency: fc.integer({ min: 1, max: 1_000 }),
            timeoutMs: fc.constantFrom(1, 86_400_000),
            abortMs: fc.constantFrom(0, 5),
          }),
        ),
        (step: never, given: never) => eachTask(step, given),
        {},
        ([rest]) => [handler, rest],
      ),
      call('limitTransactions', fc.tuple(some({ statementTimeoutMs: fc.constantFrom(100, 86_400_000) })), (given: never) =>
        limitTransactions(tasks, transactions as never, given),
      ),
      call('submit', fc.tuple(texts, fc.constantFrom('a', ['a', { identifier: 'b' }])), submitted, {
        isAsync: true,
        changedCodes: ['TOPIC_UNKNOWN'],
        codes: ['TOPIC_UNKNOWN'],
      }),
      call(
        'stop',
        fc.tuple(some({ graceMs: fc.constantFrom(0, 5), abortMs: fc.constantFrom(0, 5), leaveMs: fc.constantFrom(0, 5) })),
        (given: never) => newNode().stop(given),
        {
          isAsync: true,
        },
      ),
    ],
  }

  async function submitted(topic: never, creations: never, given: never): Promise<unknown> {
    // The transaction of the world is open, so nothing can be begun: only what is refused before that is looked at.
    const node = newNode()
    return Promise.race([
      node.submit(topic, creations, given).catch(refusedOnly),
      new Promise((resolve) => setImmediate(resolve)),
    ])
  }
}

function refusedOnly(error: unknown): void {
  if ((error as Partial<Error> | undefined)?.message?.includes('within a transaction')) return
  throw error
}
