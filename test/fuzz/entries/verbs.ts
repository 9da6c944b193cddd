/** Every verb of a repository, on SQLite in memory. */
import { TaskDecision, taskReasons, filterStates } from '@taskstream/task-api'
import type { TaskErrorCode } from '@taskstream/task-api'
import * as fc from 'fast-check'
import type { FuzzedCall, FuzzedWorld } from '../property.ts'
import { openWorld, topics } from './verbs-world.ts'
import type { VerbsWorld } from './verbs-world.ts'

const topic = fc.constantFrom(...topics)
const place = fc.nat(11)
const instants = fc.constantFrom(
  0,
  1,
  1_700_000_000_000,
  Date.parse('0001-01-01T00:00:00Z'),
  Date.parse('9999-12-31T23:59:59.999Z'),
)
const sequences = fc.constantFrom(0, 1, 5, 2 ** 31, Number.MAX_SAFE_INTEGER)
const texts = fc.constantFrom('a', '__proto__', 'constructor', 'x'.repeat(500), '💥', '\u202E', "'--", ' ')
const names = texts.map((text) => text.slice(0, 250))
const durations = fc.constantFrom(0, 1, 86_400_000, 3_153_600_000_000)

/** Some of these fields. */
const some = <Fields extends object>(fields: { [Key in keyof Fields]: fc.Arbitrary<Fields[Key]> }): fc.Arbitrary<
  Partial<Fields>
> => fc.record(fields, { requiredKeys: [] }) as never

const filter = some({
  identifier: texts,
  reference: texts,
  reason: fc.constantFrom(...taskReasons),
  from: fc.constantFrom(0, 1),
  to: fc.constantFrom(1, Number.MAX_SAFE_INTEGER),
  createdFrom: fc.constant(new Date(0)),
  createdBefore: instants.filter((ms) => ms >= 0).map((ms) => new Date(ms)),
  completedFrom: fc.constant(new Date(0)),
  completedBefore: instants.filter((ms) => ms >= 0).map((ms) => new Date(ms)),
  changedBefore: instants.filter((ms) => ms >= 0).map((ms) => new Date(ms)),
})
const states = fc.subarray([...filterStates])
const revivable = fc.constantFrom('expired', 'failed', 'suspended', 'delayed', 'filtered', 'succeeded')

const creation = fc.oneof(
  texts,
  fc
    .record(
      {
        identifier: texts,
        input: fc.constantFrom('', '{}', 'x'.repeat(100_000), '\u2028'),
        reference: texts,
        externalId: texts,
        suspended: fc.boolean(),
        delayMs: durations,
        deadline: instants.map((ms) => new Date(ms)),
        priority: fc.constantFrom(-32_767, 0, 32_767),
        maxTries: fc.constantFrom(1, 32_767),
        headers: fc.constantFrom(
          {},
          { a: 1 },
          { constructor: [null, true] },
          JSON.parse('{"__proto__":{"a":"\\u2028"}}') as object,
        ),
      },
      { requiredKeys: ['identifier'] },
    )
    .map((one) => one as object),
)

const moved = fc
  .oneof(
    some({ due: instants.map((ms) => new Date(ms)), priority: fc.constant(5) }),
    some({ delayMs: durations, deadlineMs: durations }),
  )
  .map((to) => (Object.keys(to).length === 0 ? { priority: -5 } : to))

const selector = fc.oneof(
  place.map((index) => ({ by: 'sequence' as const, index })),
  fc.array(place, { maxLength: 5 }).map((indexes) => ({ by: 'sequences' as const, indexes })),
  texts.map((text) => ({ by: 'externalId' as const, text })),
)

const decisions: readonly (() => TaskDecision)[] = [
  () => TaskDecision.success('x'.repeat(70_000)),
  () => TaskDecision.failure(new Error('a\0b')),
  () => TaskDecision.failure(Symbol('a')),
  () => TaskDecision.filter(),
  () => TaskDecision.suspension('later'),
  () => TaskDecision.retry({ afterMs: 5 }, 'again'),
]

const known: readonly TaskErrorCode[] = []

export async function openVerbs(): Promise<FuzzedWorld> {
  const world = await openWorld()
  const { tasks, database } = world
  const calls: FuzzedCall[] = []
  /** Adds a verb with its drawn arguments. */
  const verb = <Drawn>(
    name: keyof typeof tasks,
    drawn: fc.Arbitrary<Drawn>,
    args: (drawn: Drawn) => readonly unknown[],
    codes: readonly TaskErrorCode[] = known,
  ): void => {
    const call = (...given: never[]): unknown => (tasks[name] as (...given: unknown[]) => unknown)(database, ...given)
    calls.push({
      name,
      drawn: drawn as never,
      args: args as never,
      call,
      codes,
      changedCodes,
      ...(name === 'admit' && { writtenWith: ['TOPIC_FULL'] }),
    })
  }
  pushing(verb)
  working(verb, world)
  ending(verb, world)
  looking(verb, world)
  administering(verb, world)
  return { ...world, calls }
}

/** Changed arguments may name another topic, another task, or something that the topic cannot do. */
const changedCodes: readonly TaskErrorCode[] = [
  'TOPIC_UNKNOWN',
  'TOPIC_DIFFERENT',
  'TOPIC_NOT_KEYED',
  'TASK_STATE',
  'TASK_DUPLICATE',
  'TASK_LOST',
  'TOPIC_FULL',
  'OWNER_UNKNOWN',
]

type AddVerb = <Drawn>(
  name: keyof VerbsWorld['tasks'],
  drawn: fc.Arbitrary<Drawn>,
  args: (drawn: Drawn) => readonly unknown[],
  codes?: readonly TaskErrorCode[],
) => void

function pushing(verb: AddVerb): void {
  const creations = fc.oneof(creation, fc.array(creation, { maxLength: 5 }))
  verb('push', fc.tuple(topic, creations, some({ insertion: fc.constant('append') })), (given) => given)
  const insertions = some({ insertion: fc.constantFrom('append', 'supersede', 'replace', 'delete') })
  verb('push', fc.tuple(fc.constantFrom('keyed', 'single', 'urgent', 'turns'), creations, insertions), (given) => given)
  verb('admit', fc.tuple(topic, fc.nat(100_000), fc.array(texts)), (given) => given, ['TOPIC_FULL'])
  verb(
    'initialize',
    fc.tuple(names, some({ order: fc.constantFrom('fifo', 'lifo', 'priority'), keyed: fc.boolean() })),
    (given) => given,
    ['TOPIC_DIFFERENT'],
  )
}

function working(verb: AddVerb, { held, known }: VerbsWorld): void {
  const shares = fc.record({ high: fc.integer({ min: 1, max: 1_000 }), low: fc.integer({ min: 1, max: 1_000 }) })
  const polled = some({ size: fc.nat(10_000), hold: fc.constantFrom('lease', 'transaction'), shares })
  verb('poll', fc.tuple(topic, polled), (given) => given)
  const someHeld = fc.tuple(topic, fc.subarray([0, 1, 2, 3]))
  const heldOf = ([topic, places]: readonly [keyof typeof held, readonly number[]]): unknown[] =>
    places.flatMap((index) => held[topic][index] ?? [])
  for (const name of ['hold', 'lost', 'handBack', 'reclaim'] as const) verb(name, someHeld, (drawn) => [drawn[0], heldOf(drawn)])
  const completion = fc.tuple(
    someHeld,
    fc.array(fc.nat(decisions.length - 1), { minLength: 4, maxLength: 4 }),
    some({ strict: fc.boolean(), discard: fc.subarray(['succeeded', 'failed', 'filtered']) }),
  )
  verb('complete', completion, ([drawn, made, options]) => [
    drawn[0],
    new Map(heldOf(drawn).map((task, index) => [task, decisions[made[index]!]!()])),
    options,
  ])
  verb('promoteDue', fc.tuple(topic, some({ limit: fc.integer({ min: 1, max: 100_000 }) })), (given) => given)
  verb('settle', fc.tuple(topic, some({ limit: fc.integer({ min: 1, max: 100_000 }) })), (given) => given)
  verb('takeSlots', fc.tuple(topic, fc.record({ held: fc.nat(1_000_000), wanted: fc.nat(1_000_000) })), (given) => given)
  verb('takeTokens', fc.tuple(topic, fc.nat(1_000_000)), (given) => given)
  verb('giveTokens', fc.tuple(topic, fc.nat(1_000_000)), (given) => given)
  verb('holdSlots', fc.tuple(topic), (given) => given)
  verb('freeSlots', fc.tuple(durations), (given) => given)
  verb(
    'depend',
    fc.tuple(
      topic,
      fc.nat(11),
      texts.filter((text) => text.length <= 100),
      fc.boolean(),
    ),
    ([name, index, need, tolerant]) => [known[name][12], [{ need, on: known[name][index], tolerant }]],
  )
}

function ending(verb: AddVerb, { known }: VerbsWorld): void {
  const select = (
    name: (typeof topics)[number],
    drawn: { by: string; index?: number; indexes?: number[]; text?: string },
  ): unknown => {
    if (drawn.by === 'sequence') return known[name][drawn.index!]!.sequence
    return drawn.by === 'sequences' ? drawn.indexes!.map((index) => known[name][index]!.sequence) : { externalId: drawn.text }
  }
  verb('cancel', fc.tuple(topic, selector), ([name, one]) => [name, select(name, one)])
  verb('reschedule', fc.tuple(topic, selector, moved), ([name, one, to]) => [name, select(name, one), to])
  const some12 = fc.uniqueArray(place, { maxLength: 4 })
  const revived = fc.tuple(fc.constantFrom('keyed', 'urgent'), fc.constantFrom('reset', 'append', 'supersede', 'replace'), some12)
  verb('recreate', revived, ([name, kind, places]) => [name, kind, places.map((index) => known[name as 'keyed'][index])], [
    'TASK_STATE',
  ])
  verb(
    'recreate',
    fc.tuple(topic, fc.constantFrom('reset', 'append'), revivable, fc.integer({ min: 1, max: 100_000 }), filter),
    ([name, kind, state, size, rest]) => [name, kind, { ...rest, state, size }],
  )
  verb(
    'redrive',
    fc.tuple(topic, filter, fc.array(revivable), fc.boolean(), fc.integer({ min: 1, max: 100_000 })),
    ([name, rest, states, dryRun, limit]) => [name, { ...rest, states, dryRun, limit }],
  )
  const results = fc.constantFrom('failure', 'suspension', 'filter', 'success')
  verb(
    'reassign',
    fc.tuple(topic, some12, results),
    ([name, places, result]) => [name, new Map(places.map((index) => [known[name][index]!, result]))],
    ['TASK_STATE'],
  )
  verb(
    'reassignAll',
    fc.tuple(topic, revivable, results, some({ first: sequences, last: sequences })),
    ([name, from, to, rest]) => [name, { ...rest, from, to }],
  )
  verb(
    'junction',
    fc.tuple(
      fc.constantFrom('keyed', 'single'),
      fc.constantFrom('singular', 'eternal'),
      fc.array(fc.uniqueArray(texts, { minLength: 1 })),
    ),
    (given) => given,
  )
  verb(
    'purge',
    fc.tuple(topic, filter, some({ states, olderThanMs: durations, limit: fc.integer({ min: 1, max: 100_000 }) })),
    ([name, rest, more]) => [name, { ...rest, ...more }],
  )
  verb('purgeAll', fc.tuple(topic), (given) => given)
  verb('purgeAttempts', fc.tuple(fc.record({ olderThanMs: durations }, {})), (given) => given)
}

function looking(verb: AddVerb, { known }: VerbsWorld): void {
  const one = fc.oneof(
    sequences,
    texts.map((externalId) => ({ externalId })),
  )
  verb('task', fc.tuple(topic, one), (given) => given)
  verb('attempts', fc.tuple(topic, one), (given) => given)
  const paged = some({ states, size: fc.nat(100_000), after: sequences })
  verb('page', fc.tuple(topic, filter, paged), ([name, rest, more]) => [name, { ...rest, ...more }])
  verb('count', fc.tuple(filter, some({ topic, states, recent: fc.boolean() })), ([rest, more]) => [{ ...rest, ...more }])
  verb('overview', fc.tuple(some({ limit: fc.integer({ min: 1, max: 1_000_000 }) })), (given) => given)
  verb('results', fc.tuple(some({ from: fc.constant(new Date(0)), to: fc.constant(new Date(8e12)) })), (given) => given)
  verb(
    'resolve',
    fc.tuple(
      instants.map((ms) => new Date(ms)),
      some({ preceding: fc.boolean() }),
    ),
    (given) => given,
  )
  const keys = fc.array(fc.tuple(topic, place), { maxLength: 5 })
  verb('endings', keys, (drawn) => [drawn.map(([name, index]) => known[name][index])])
  verb('dependencies', keys, (drawn) => [drawn.map(([name, index]) => known[name][index])])
  for (const name of ['limits', 'topics', 'activations'] as const) verb(name, fc.tuple(), (given) => given)
}

function administering(verb: AddVerb, _world: VerbsWorld): void {
  const limits = some({
    total: fc.integer({ min: 1, max: 1_000_000 }),
    rate: fc.record({ count: fc.integer({ min: 1, max: 1_000_000 }), perMs: fc.integer({ min: 1, max: 86_400_000 }) }),
    maxEntries: fc.record({ count: fc.integer({ min: 1, max: 10_000_000 }), whenFull: fc.constantFrom('reject', 'drop-oldest') }),
    deadLetter: fc.constant('keyed'),
  })
  verb('limit', fc.tuple(fc.constantFrom('plain', 'limited'), limits, some({ keep: fc.boolean() })), (given) => given)
  for (const name of ['activate', 'deactivate', 'repair'] as const) verb(name, fc.tuple(topic), (given) => given)
  verb('destroy', fc.tuple(names), (given) => given, ['TOPIC_IN_USE'])
  verb('limitStatements', fc.tuple(fc.integer({ min: 1, max: 86_400_000 })), (given) => given)
  verb('register', fc.tuple(some({ exclusive: fc.boolean() })), (given) => given)
  verb('heartbeat', fc.tuple(), (given) => given)
  verb('unregister', fc.tuple(), (given) => given)
  verb('owners', fc.tuple(durations), (given) => given)
  verb('purgeOwners', fc.tuple(durations), (given) => given)
  const expired = fc.record(
    { olderThanMs: durations, then: fc.constantFrom('expired', 'ready'), limit: fc.integer({ min: 1, max: 100_000 }) },
    { requiredKeys: ['olderThanMs'] },
  )
  verb('expire', fc.tuple(expired), (given) => given)
}
