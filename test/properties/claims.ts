/** The model's rules of polling: which rows a poll may take, and which it takes if no other session disturbs it. */
import type { PollCondition, PollOrder } from '@taskstream/task-api'
import { become, filterStateOf, isLate } from './rows.ts'
import type { ModelRow } from './rows.ts'

/** How the model's one topic is polled. */
export interface ModelTopic {
  readonly order: PollOrder
  readonly condition: PollCondition
}

const numbers: Readonly<Record<string, number>> = { expired: 2, failed: 3, suspended: 4 }
const strictness = (condition: PollCondition): number => {
  if (condition === 'singular-by-identifier-suspend-until-success') return 4
  return condition === 'singular-by-identifier-suspend-on-failure' ? 3 : 1
}

/** Whether the condition lets a poll take a ready row, given the other rows. */
export function mayTake({ order, condition }: ModelTopic, rows: readonly ModelRow[], row: ModelRow): boolean {
  if (condition === 'none') return true
  return !rows.some((other) => {
    if (other.identifier !== row.identifier || other.sequence === row.sequence) return false
    if (other.state === 'active') return true
    if (order === 'lifo' ? other.sequence < row.sequence : other.sequence > row.sequence) return false
    if (other.state === 'ready' || ['delayed', 'blocked'].includes(filterStateOf(other))) return true
    return (numbers[other.state] ?? 9) <= strictness(condition)
  })
}

function inOrder({ order }: ModelTopic, rows: readonly ModelRow[]): ModelRow[] {
  return rows.toSorted((left, right) => {
    if (order === 'lifo') return right.sequence - left.sequence
    return (order === 'priority' ? right.priority - left.priority : 0) || left.sequence - right.sequence
  })
}

/** Where a poller has left a topic of the order `shared`: the last identifier, and how often the turn has come round. */
export interface ModelPlace {
  identifier: string
  lap: number
  /** False if it has polled beside others, who may have had what its turn was. */
  isKnown: boolean
}

/** The first rows of the order `shared`: each identifier gives one in turn, four times a high one and then a low one. */
function inTurn(ready: readonly ModelRow[], size: number, place: ModelPlace): ModelRow[] {
  const groups = Map.groupBy(ready, ({ identifier }) => identifier)
  const names = [...groups.keys()].toSorted()
  const some: ModelRow[] = []
  while (some.length < Math.min(size, ready.length)) {
    const ring = [...names.filter((name) => name > place.identifier), ...names]
    const name = ring.find((one) => groups.get(one)!.some((row) => !some.includes(row)))!
    const left = groups.get(name)!.filter((row) => !some.includes(row))
    if (name <= place.identifier) place.lap++
    const wantsHigh = place.lap % 5 < 4
    some.push(left.find(({ priority }) => priority >= 0 === wantsHigh) ?? left[0]!)
    place.identifier = name
  }
  return some
}

/** The rows that a poll takes, and those whose deadline has passed, in the order in which it finds them. */
export interface Claimed {
  readonly taken: readonly ModelRow[]
  readonly late: readonly ModelRow[]
}

/** One row after the other, each under the condition that those before it leave. What is too late makes room for a second look. */
export function claim(
  topic: ModelTopic,
  rows: readonly ModelRow[],
  size: number,
  now: Date,
  isFree: (row: ModelRow) => boolean,
  place: ModelPlace,
): Claimed {
  let seen = rows
  const put = (row: ModelRow): void => void (seen = seen.map((one) => (one.sequence === row.sequence ? row : one)))
  const taken: ModelRow[] = []
  const late: ModelRow[] = []
  for (let again = true; again && taken.length < size;) {
    const some: ModelRow[] = []
    const ready = seen.filter((row) => row.state === 'ready' && isFree(row))
    for (const row of topic.order === 'shared' ? inTurn(ready, size - taken.length, place) : inOrder(topic, ready)) {
      if (taken.length + some.length >= size) break
      if (!mayTake(topic, seen, row)) continue
      some.push(row)
      put({ ...row, state: 'active' })
    }
    const tooLate = some.filter((row) => isLate(row, now))
    for (const row of tooLate) put(become.late(row, now))
    late.push(...tooLate)
    taken.push(...some.filter((row) => !isLate(row, now)))
    again = tooLate.length > 0
  }
  return { taken: topic.order === 'shared' ? taken : inOrder(topic, taken), late }
}
