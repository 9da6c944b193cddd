/** A scenario for the explorer: a few connections, and the steps of each. */

/**
 * One step of one connection. Outside a transaction that `begin` opened, a verb has a transaction of its own.
 *
 * - `push 3`, `poll 2`: so many tasks; `take 2` polls with the hold `transaction`
 * - `complete`, `hand back`: all tasks that the connection has polled and not let go of, however old
 * - `die`: the connection is lost, its owner counts as dead, and no step follows
 * - `expire`: another owner makes the tasks of dead owners ready
 * - `wait`: so much time passes that a poll looks into what keeps the low watermark from rising
 */
export type Step =
  | `${'push' | 'poll' | 'take'} ${number}`
  | 'begin'
  | 'commit'
  | 'rollback'
  | 'savepoint'
  | 'release savepoint'
  | 'rollback to savepoint'
  | 'complete'
  | 'hand back'
  | 'die'
  | 'expire'
  | 'wait'

export interface Scenario {
  readonly name: string
  /** The order of the topic; `fifo` by default. */
  readonly order?: 'fifo' | 'lifo'
  /** How many sequences are left before the border of a chunk of the claim ledger. Absent if it does not matter. */
  readonly beforeBorder?: number
  /** The connections: the owner whose repository each uses, and its steps. Connections with the same owner share its memory. */
  readonly connections: Readonly<Record<string, { readonly owner: string; readonly steps: readonly Step[] }>>
  /** The steps that happen before, in this order. */
  readonly prelude: readonly (readonly [connection: string, step: Step])[]
}

/** One order of all connections' steps. */
export type Schedule = readonly (readonly [connection: string, step: Step])[]

export function toText(schedule: Schedule): string {
  return schedule.map(([connection, step]) => `${connection}: ${step}`).join(' | ')
}

/** Steps that end a transaction. */
const ends: ReadonlySet<Step> = new Set(['commit', 'rollback', 'die'])

/** Returns the connections that have a transaction open after these steps. */
function openAfter(steps: Schedule): ReadonlySet<string> {
  const open = new Set<string>()
  for (const [connection, step] of steps) {
    if (step === 'begin') open.add(connection)
    else if (ends.has(step)) open.delete(connection)
  }
  return open
}

/** Whether the prelude can happen on a database with so many writers. */
export function canBegin({ prelude }: Scenario, writers: number): boolean {
  return prelude.every(([connection], index) => {
    const open = openAfter(prelude.slice(0, index))
    return open.has(connection) || open.size < writers
  })
}

/**
 * Returns orders of a scenario's steps, in which each connection keeps its own order. Returns all of them, or `most` different
 * ones that `random` draws.
 *
 * @param writers how many transactions may be open at a time: where it is one, a step waits for the end of another's transaction
 */
export function schedulesOf(scenario: Scenario, most: number, writers: number, random: () => number): Schedule[] {
  const scripts = Object.entries(scenario.connections).map(([name, { steps }]) => steps.map((step) => [name, step] as const))
  if (countOrders(scripts.map(({ length }) => length)) <= most)
    return [...ordersOf(scripts, scenario.prelude, writers, (indexes) => indexes)]
  const drawn = new Map<string, Schedule>()
  for (let tries = 0; drawn.size < most && tries < most * 4; tries++) {
    for (const schedule of ordersOf(scripts, scenario.prelude, writers, (indexes) => shuffled(indexes, random))) {
      drawn.set(toText(schedule), schedule)
      break
    }
  }
  return [...drawn.values()]
}

/** @param arrange puts the connections that may be next into the order in which they are tried */
function* ordersOf(
  scripts: readonly Schedule[],
  before: Schedule,
  writers: number,
  arrange: (indexes: number[]) => number[],
): Generator<Schedule> {
  if (scripts.every(({ length }) => length === 0)) yield []
  const open = openAfter(before)
  const next = [...scripts.keys()].filter((index) => {
    const [connection, step] = scripts[index]?.[0] ?? []
    return connection !== undefined && (step === 'wait' || open.has(connection) || open.size < writers)
  })
  for (const index of arrange(next)) {
    const step = scripts[index]![0]!
    const rest = scripts.with(index, scripts[index]!.slice(1))
    for (const schedule of ordersOf(rest, [...before, step], writers, arrange)) yield [step, ...schedule]
  }
}

/** The number of ways to merge scripts of these lengths. */
function countOrders(lengths: readonly number[]): number {
  let orders = 1
  let placed = 0
  for (const length of lengths) for (let step = 1; step <= length; step++) orders *= ++placed / step
  return Math.round(orders)
}

function shuffled(values: readonly number[], random: () => number): number[] {
  return values
    .map((value) => ({ value, place: random() }))
    .toSorted((left, right) => left.place - right.place)
    .map(({ value }) => value)
}
