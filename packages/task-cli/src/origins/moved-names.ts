/** By what a task that was moved is known again: it has the name of the move that first took it away, and the number that it had there. */
import type { RecordedAction, TaskInfo } from '@taskstream/task-api'
import type { NamedDatabase } from '../core/database.ts'
import { operatorOf } from '../core/operator.ts'

const action = 'export'

/**
 * The name of all moves from a topic: the id of the first record of one. It is random, so that no two databases have the same.
 *
 * @param to where the tasks go, for the record
 */
export async function nameMoves(database: NamedDatabase, topic: string, to: string): Promise<string> {
  const known = await movesFrom(database, topic)
  if (known.length > 0) return known.at(-1)!
  await recordMove(database, topic, 0, to)
  return (await movesFrom(database, topic)).at(-1)!
}

/** The moves from a topic that are recorded, the first one last. */
export async function movesFrom({ tasks, reading }: NamedDatabase, topic: string): Promise<readonly string[]> {
  const actions = await reading<readonly RecordedAction[]>((transaction) =>
    tasks.actions(transaction, { topic, details: false, limit: 10_000 }),
  )
  return actions.filter((each) => each.action === action).map(({ id }) => id)
}

/** Remembers that so many tasks went, and where. */
export async function recordMove(database: NamedDatabase, topic: string, count: number, to: string): Promise<void> {
  const { actor, via } = operatorOf(database)
  const record = { action, topic, count, via, note: to, ...(actor !== undefined && { actor }) }
  await database.transactions<string>((transaction) => database.tasks.record(transaction, record))
}

/** The external id of a task that has none. It begins with `@`, so that a job without an id is still one without. */
export function movedName(move: string, sequence: number): string {
  return `@moved:${move}:${sequence}`
}

/** The number that a task had in the topic from which it was moved first, if one of these moves did that. */
export function formerSequence({ externalId }: TaskInfo, moves: ReadonlySet<string>): number | undefined {
  const [, move, sequence] = /^@moved:(.+):(\d+)$/.exec(externalId ?? '') ?? []
  return move !== undefined && moves.has(move) ? Number(sequence) : undefined
}
