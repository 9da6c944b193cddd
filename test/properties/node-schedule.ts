/** The random schedules of the node model: the settings of a topic and its nodes, and the events that happen meanwhile. */
import { pollConditions } from '@taskstream/task-api'
import * as fc from 'fast-check'
import { engine } from '../subject.ts'

/** What a handler does once the schedule lets it go on. */
const manners = [
  'succeeds',
  'succeeds',
  'fails',
  'suspends',
  'filters',
  'retries',
  'leaves out half',
  'decides of another task',
  'returns nothing',
  'throws',
  'throws',
  // After one of the following, the handler goes on until the schedule lets it go on again.
  'completes',
  'completes',
  'completes with writes',
  'completes with writes that throw',
] as const
export type Manner = (typeof manners)[number]

/** What a handler does when it is asked to let go by its signal. */
const reactions = ['ignores', 'throws', 'decides half', 'returns nothing', 'completes'] as const
export type Reaction = (typeof reactions)[number]

/**
 * What goes wrong with a transaction. `before`: the database is gone; `locked`: it is busy; `undone`: it is gone before the
 * commit; `after`: the commit goes unanswered; `refused`: an error that will not pass by itself.
 */
const faults = ['before', 'locked', 'undone', 'after', 'after', 'refused'] as const
export type Fault = (typeof faults)[number]

const faultyVerbs = ['poll', 'poll', 'complete', 'complete', 'handBack', 'promoteDue', 'reclaim', 'heartbeat', 'expire'] as const
export type FaultyVerb = (typeof faultyVerbs)[number]

const milliseconds = fc.constantFrom(0, 100, 500, 2_000)
const node = fc.nat(1)
const stopping = {
  node,
  graceMs: fc.constantFrom(0, 100, 5_000),
  abortMs: fc.constantFrom(0, 100, 1_000),
  leaveMs: fc.constantFrom(400, 8_000),
}

const creation = fc.record(
  {
    identifier: fc.constantFrom('a', 'b', 'c', 'd'),
    priority: fc.nat(2),
    delayMs: fc.constantFrom(1, 300, 2_500),
    deadlineMs: fc.constantFrom(200, 3_000, 60_000),
    maxTries: fc.integer({ min: 1, max: 3 }),
  },
  { requiredKeys: ['identifier'] },
)

const push = fc.record({ kind: fc.constant('push' as const), creations: fc.array(creation, { minLength: 1, maxLength: 4 }) })
const pass = fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 50, 250, 800, 2_500, 12_000) })
const letGo = fc.record({ kind: fc.constant('let go' as const), pick: fc.nat(5), manner: fc.constantFrom(...manners) })

const event = fc.oneof(
  { weight: 8, arbitrary: push },
  { weight: 12, arbitrary: pass },
  { weight: 20, arbitrary: letGo },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('fault' as const),
      verb: fc.constantFrom(...faultyVerbs),
      fault: fc.constantFrom(...faults),
      count: fc.constantFrom(1, 1, 1, 2, 4, 12),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wake' as const), node }) },
  // As if the process stood still: no timer rings for longer than the lease, and then all do.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stand still' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('stop topic' as const), ...stopping }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('start topic' as const), node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stop node' as const), ...stopping }) },
)
export type NodeEvent = typeof event extends fc.Arbitrary<infer Value> ? Value : never

const setting = fc.record({
  // A topic that keeps outcomes has no transactional mode.
  mode: engine.outcomes
    ? fc.constant('leased' as const)
    : fc.constantFrom('leased' as const, 'leased' as const, 'transactional' as const),
  size: fc.integer({ min: 1, max: 4 }),
  /** Default: what the handler takes. */
  concurrency: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  buffer: fc.option(
    fc.record({
      buffer: fc.nat(2),
      workers: fc.integer({ min: 1, max: 2 }),
      pendingOnClose: fc.constantFrom('handle' as const, 'return' as const, 'fail' as const),
    }),
    { nil: undefined, freq: 2 },
  ),
  slots: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined, freq: 2 }),
  order: fc.constantFrom('fifo' as const, 'fifo' as const, 'lifo' as const, 'priority' as const),
  condition: fc.constantFrom('none' as const, 'none' as const, ...pollConditions),
  /** Whether the node is told of order and condition. */
  named: fc.boolean(),
  retry: fc.option(fc.record({ tries: fc.integer({ min: 1, max: 3 }), afterMs: milliseconds }), { nil: undefined }),
  timeoutMs: fc.option(fc.constantFrom(150, 600, 2_000), { nil: undefined }),
  abortMs: fc.constantFrom(0, 300, 2_000),
  idleMs: fc.constantFrom(100, 1_000, 4_000),
  nodes: fc.constantFrom(1, 1, 2),
  /** The reactions of successive calls of the handler. After the last comes the first again. */
  reactions: fc.array(fc.constantFrom(...reactions), { minLength: 1, maxLength: 4 }),
  /** The seed of all that pauses leave to chance. */
  dice: fc.nat(),
})
export type NodeSetting = typeof setting extends fc.Arbitrary<infer Value> ? Value : never

export const schedule = fc.record({ setting, events: fc.array(event, { minLength: 5, maxLength: 40, size: 'max' }) })
export type Schedule = typeof schedule extends fc.Arbitrary<infer Value> ? Value : never
