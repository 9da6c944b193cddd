/**
 * The reports of random stops agree with the database afterwards. A failure prints its schedule and its seed. TASKSTREAM_SEED
 * runs that seed again, and TASKSTREAM_RUNS sets the number of runs.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask, TaskState, TransactionSource } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import type { BatchHandler, Decisions, HandlerContext } from '@taskstream/task-processor'
import { testClock } from '@taskstream/task-testing'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openNodeFixture } from '../e2e/fixture.ts'
import type { NodeFixture } from '../e2e/fixture.ts'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { amountOf } from '../tiers.ts'

const isFast = engine.connections === 1 && engine.synchronous
const runs = Number(process.env['TASKSTREAM_RUNS'] ?? Math.min(amountOf('stops'), isFast ? Infinity : 120))
const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

/** What a handler does with a batch. */
const manners = [
  'decides',
  'decides late',
  'throws',
  'lets go',
  'lets go in part',
  'is stuck',
  'completes',
  'completes and is stuck',
  'completes in the end',
  'completes as decided',
  'leaves out half',
] as const
type Manner = (typeof manners)[number]

/** What happens to a completion or a hand-back. `before`: the database is gone; `after`: the commit goes unanswered. */
const faults = ['none', 'before', 'after'] as const

const schedule = fc.record({
  mode: fc.constantFrom('leased' as const, 'transactional' as const),
  tasks: fc.integer({ min: 1, max: 9 }),
  size: fc.integer({ min: 1, max: 4 }),
  concurrency: fc.integer({ min: 1, max: 3 }),
  /** The manners of successive batches. After the last comes the first again. */
  manners: fc.array(fc.constantFrom(...manners), { minLength: 1, maxLength: 5 }),
  timeoutMs: fc.option(fc.integer({ min: 1, max: 3_000 }), { nil: undefined }),
  graceMs: fc.constantFrom(0, 100, 5_000),
  abortMs: fc.constantFrom(0, 100),
  /** After how many turns of the event loop the node is stopped. */
  stopAfter: fc.integer({ min: 0, max: 60 }),
  /** The faults of successive completions and hand-backs. After the last comes the first again. */
  faults: fc.array(fc.constantFrom(...faults), { minLength: 1, maxLength: 6 }),
  /** How many completions and hand-backs draw from these faults. Nothing happens to later ones. */
  faultCount: fc.constantFrom(0, 0, 1, 2, 5, 1_000),
  /** By how many turns of the event loop the answer to each poll is late. */
  lateBy: fc.constantFrom(0, 0, 3, 20),
})
type Schedule = typeof schedule extends fc.Arbitrary<infer Value> ? Value : never

/**
 * Schedules that random runs have found. A hand-back goes unanswered, and the same node polls and completes its tasks before the
 * hand-back is tried again.
 */
const polledAgain: [Schedule][] = [
  [
    {
      mode: 'leased',
      tasks: 7,
      size: 3,
      concurrency: 3,
      manners: ['throws', 'lets go in part'],
      timeoutMs: 1,
      graceMs: 0,
      abortMs: 100,
      stopAfter: 8,
      faults: ['after', 'after', 'none', 'none', 'none', 'after'],
      faultCount: 1_000,
      lateBy: 0,
    },
  ],
  [
    {
      mode: 'transactional',
      tasks: 2,
      size: 2,
      concurrency: 2,
      manners: ['lets go in part', 'decides'],
      timeoutMs: 1,
      graceMs: 0,
      abortMs: 100,
      stopAfter: 25,
      faults: ['after', 'none'],
      faultCount: 1_000,
      lateBy: 20,
    },
  ],
]

/** What is known of a transaction. */
interface Store {
  begun: boolean
  /** Whether its commit or rollback is under way. */
  ending: boolean
  writes: boolean
  polled: readonly HeldTask[]
  /** Polled tasks that only the open transaction holds. */
  locked: readonly HeldTask[]
  fault: (typeof faults)[number]
}

/** A stop that takes longer will never end. */
const longestStopMs = 600_000

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const decide = (tasks: readonly HeldTask[]): Decisions => new Map(tasks.map((task) => [task, TaskDecision.success()]))

/** Handles each batch in the next manner. Stuck handlers wait for `ended`. */
function mannered(list: readonly Manner[], ended: Promise<void>): BatchHandler<AnyTransaction> {
  let count = 0
  const aborted = ({ signal }: HandlerContext<AnyTransaction>): Promise<void> =>
    new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())))
  const handlers: Record<Manner, BatchHandler<AnyTransaction>> = {
    decides: (tasks) => decide(tasks),
    'decides late': async (tasks) => {
      for (let turns = 0; turns < 10; turns++) await turn()
      return decide(tasks)
    },
    throws: async () => {
      await turn()
      throw new Error('broken')
    },
    'lets go': async (_, context) => {
      await aborted(context)
      throw context.signal.reason
    },
    'lets go in part': async (tasks, context) => {
      await aborted(context)
      return decide(tasks.slice(0, 1))
    },
    'is stuck': async (tasks) => {
      await ended
      return decide(tasks)
    },
    completes: async (_, { complete }) => void (await complete((_transaction, held) => decide(held))),
    'completes and is stuck': async (_, { complete }) => {
      await complete((_transaction, held) => decide(held))
      await ended
    },
    'completes in the end': async (_, context) => {
      await aborted(context)
      await context.complete((_transaction, held) => decide(held))
    },
    'completes as decided': async (tasks, { complete }) => void (await complete(decide(tasks))),
    'leaves out half': async (tasks) => decide(tasks.slice(0, Math.floor(tasks.length / 2))),
  }
  return (tasks, context) => handlers[list[count++ % list.length]!](tasks, context)
}

describe.skipIf(!canRun)(`any stop (${runs} of them, seed ${seed})`, () => {
  test('reports each task that was held, and what the database says became of it', { timeout: 240_000 }, async () => {
    await using fixture = await openNodeFixture('stop-report')
    await fc.assert(
      fc.asyncProperty(schedule, (given) => stopAndCompare(fixture, given)),
      { numRuns: runs, seed, endOnFailure: false, examples: polledAgain },
    )
  })
})

async function stopAndCompare(fixture: NodeFixture, given: Schedule): Promise<void> {
  await fixture.next()
  const { topic, subject } = fixture
  const clock = testClock(new Date())
  const own = subject.tasks()
  const ended = Promise.withResolvers<void>()
  const verbs = new AsyncLocalStorage<Store>()
  let isOver = false
  let written = 0
  const underWay = new Set<Store>()
  /** A transaction that its handler keeps open is not at work, nor is one that waits for the same connection. */
  const atWork = (): number =>
    [...underWay].filter(({ begun, locked, writes, ending }) => begun && (locked.length === 0 || writes || ending)).length
  /** The tasks that the node knows it holds, by sequence. */
  const known = new Map<number, HeldTask>()
  /** Tasks of which the test cannot tell whether the node counts them as held when it is stopped. */
  const doubtful = new Set<number>()
  /** Tasks that were polled again while an earlier batch, whose hand-back went unanswered, still counted them as held. */
  const heldTwice = new Set<number>()
  const hold = (task: HeldTask): void => {
    if (known.has(task.sequence)) heldTwice.add(task.sequence)
    known.set(task.sequence, task)
    doubtful.delete(task.sequence)
  }
  /** The tasks that handlers were called with. */
  const handled = new Set<HeldTask>()
  const transactions: TransactionSource<AnyTransaction> = async (work) => {
    const store: Store = { begun: subject.writers > 1, ending: false, writes: false, polled: [], locked: [], fault: 'none' }
    underWay.add(store)
    try {
      const result = await subject.transactions((transaction) =>
        verbs.run(store, async () => {
          store.begun = true
          try {
            return await work(transaction)
          } finally {
            store.ending = true
          }
        }),
      )
      if (store.fault === 'after') throw new TaskError('DATABASE_UNAVAILABLE', 'gone after the commit')
      for (let turns = 0; store.polled.length > 0 && turns < given.lateBy; turns++) await turn()
      store.polled.forEach(hold)
      return result
    } catch (error) {
      // The transaction is over, and the node hears of that in a moment. What a poll brings after handlers were asked to let go
      // is rolled back. The report may have such tasks, although no handler was given them.
      for (const task of store.locked) if (!isStopping || !handled.has(task)) doubtful.add(task.sequence)
      throw error
    } finally {
      underWay.delete(store)
    }
  }
  const writing =
    <Verb extends 'complete' | 'handBack'>(name: Verb) =>
    async (...args: readonly unknown[]): Promise<unknown> => {
      const store = verbs.getStore()!
      if (!store.writes && !isOver && written < given.faultCount) store.fault = given.faults[written++ % given.faults.length]!
      store.writes = true
      if (store.fault === 'before') throw new TaskError('DATABASE_UNAVAILABLE', 'gone')
      return (own[name] as (...all: readonly unknown[]) => unknown)(...args)
    }
  const repository = {
    ...own,
    poll: async (...args: Parameters<Tasks['poll']>) => {
      const tasks = await own.poll(...args)
      const store = verbs.getStore()!
      // The node knows at once of tasks that an open transaction holds.
      if (args[2]?.hold === 'transaction') (store.locked = tasks).forEach(hold)
      else store.polled = tasks
      return tasks
    },
    complete: writing('complete'),
    handBack: writing('handBack'),
  } as unknown as Tasks
  const forget = (tasks: readonly HeldTask[]): void => {
    // A task that came back may be held again before its end is reported.
    for (const task of tasks) {
      if (isStopping || known.get(task.sequence) !== task) continue
      known.delete(task.sequence)
      if (heldTwice.has(task.sequence)) doubtful.add(task.sequence)
    }
  }
  let isStopping = false
  const node = new TaskNode<AnyTransaction>({
    repository,
    transactions,
    clock,
    heartbeatIntervalMs: 20_000,
    leaseMs: 60_000,
    maintenanceIntervalMs: 10_000,
    listener: {
      onStart: ({ tasks }) => tasks.forEach((task) => handled.add(task)),
      onComplete: ({ completion }) => forget(completion.completed),
      onReturned: ({ tasks }) => forget(tasks),
      // The node may or may not have held a lost task until now.
      onLost: ({ tasks }) => tasks.forEach(({ sequence }) => !isStopping && doubtful.add(sequence)),
    },
  })
  node.process(topic, {
    mode: given.mode,
    size: given.size,
    concurrency: given.concurrency,
    abortMs: given.abortMs,
    ...(given.timeoutMs !== undefined && { timeoutMs: given.timeoutMs }),
    handler: mannered(given.manners, ended.promise),
  })
  await fixture.push(...Array.from({ length: given.tasks }, (_, index) => String(index)))
  await node.start()
  /** Time passes, but not while the database is at work. */
  const pass = async (): Promise<void> => {
    await turn()
    if (atWork() === 0) clock.advance(25)
  }
  for (let turns = 0; turns < given.stopAfter; turns++) await pass()
  isStopping = true
  const stopped = node.stop({ graceMs: given.graceMs, abortMs: given.abortMs }).finally(() => (isOver = true))
  const isUnderWay = (): boolean => !isOver
  const lastMs = clock.monotonicMs() + longestStopMs
  while (isUnderWay()) {
    if (clock.monotonicMs() > lastMs) throw new Error(`it has not stopped within ${longestStopMs} ms of its clock`)
    await pass()
  }
  const report = await stopped
  const states = new Map((await fixture.page()).map((info) => [info.sequence, info]))
  ended.resolve()
  const reported = Object.entries(report).flatMap(([name, tasks]) =>
    (tasks as readonly HeldTask[]).map(({ sequence }) => ({ name, sequence })),
  )
  const is = (sequence: number): string => {
    const { state, tries } = states.get(sequence)!
    const done: readonly TaskState[] = ['failed', 'suspended', 'filtered', 'succeeded']
    if (done.includes(state)) return 'finished'
    return state === 'ready' && tries === 0 ? 'returned' : `abandoned`
  }
  expect(reported).toEqual(reported.map(({ sequence }) => ({ name: is(sequence), sequence })))
  const certain = (sequences: Iterable<number>): number[] =>
    [...sequences].filter((sequence) => !doubtful.has(sequence)).toSorted((one, other) => one - other)
  expect(certain(reported.map(({ sequence }) => sequence))).toEqual(certain(known.keys()))
  expect(new Set(reported.map(({ sequence }) => sequence)).size).toBe(reported.length)
}
