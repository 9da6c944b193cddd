/** What an explorer runs: a few connections, and what each of them does in turn. */

/**
 * One step of one connection. Outside a transaction that `begin` opened, a verb has a transaction of its own.
 *
 * - `push 3`, `poll 2`: so many tasks; `take 2` polls for the transaction only
 * - `complete`, `hand back`: everything that the connection has polled and not let go of, of whatever age
 * - `die`: the connection is lost, its owner counts as dead, and nothing follows
 * - `expire`: somebody else makes ready what dead owners held
 * - `wait`: so long that a poll looks into what keeps the floor from rising
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
  /** Of the topic; fifo unless said. */
  readonly order?: 'fifo' | 'lifo'
  /** So many sequences are left before the border of a chunk of the ledger; absent: it does not matter. */
  readonly beforeBorder?: number
  /** Each connection: whose repository it uses, by any name, and its steps. Connections of one name share owner and memory. */
  readonly connections: Readonly<Record<string, { readonly owner: string; readonly steps: readonly Step[] }>>
  /** What has happened before, in this order. */
  readonly prelude: readonly (readonly [connection: string, step: Step])[]
}

/** One order of everybody's steps. */
export type Schedule = readonly (readonly [connection: string, step: Step])[]

export function toText(schedule: Schedule): string {
  return schedule.map(([connection, step]) => `${connection}: ${step}`).join(' | ')
}

/** Steps that end a transaction. */
const ends: ReadonlySet<Step> = new Set(['commit', 'rollback', 'die'])

/** Which connections have a transaction open after these steps. */
function openAfter(steps: Schedule): ReadonlySet<string> {
  const open = new Set<string>()
  for (const [connection, step] of steps) {
    if (step === 'begin') open.add(connection)
    else if (ends.has(step)) open.delete(connection)
  }
  return open
}

/** Whether what has happened before can have happened where so many transactions may be open at a time. */
export function canBegin({ prelude }: Scenario, writers: number): boolean {
  return prelude.every(([connection], index) => {
    const open = openAfter(prelude.slice(0, index))
    return open.has(connection) || open.size < writers
  })
}

/**
 * Orders of a scenario's steps in which each connection keeps its own. All of them, or as many as `most`, drawn by `random`, none twice.
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

/** @param arrange in which order the connections are tried that may be next */
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

/** How many orders there are of scripts of these lengths. */
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
