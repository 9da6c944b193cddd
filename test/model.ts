/** The repository in memory: what rows there are, and who sees and holds what while transactions are open. */
import type { FilterState, HeldTask, Insertion, PollCondition, PollOrder, TaskState } from '@taskstream/task-api'

export interface ModelRow {
  readonly sequence: number
  readonly identifier: string
  readonly priority: number
  readonly state: TaskState
  readonly owner?: string
  readonly attempt: number
  readonly due?: number
}

/** How the model's one topic is polled. */
export interface ModelTopic {
  readonly order: PollOrder
  readonly condition: PollCondition
}

/** What a row is asked for and counted by. */
export function filterStateOf({ state, due }: ModelRow): FilterState {
  return state === 'suspended' && due !== undefined ? 'delayed' : state
}

/** What has ended: purged where no states are asked for. */
export const ended: readonly FilterState[] = ['failed', 'suspended', 'filtered', 'succeeded', 'recreated', 'redundant']

const open: readonly FilterState[] = ['ready', 'delayed']
/** The older rows of an identifier that each insertion is about. */
export const olderStates: Readonly<Record<Exclude<Insertion, 'append'>, readonly FilterState[]>> = {
  supersede: open,
  replace: [...open, 'expired', 'failed', 'suspended', 'filtered', 'succeeded'],
  delete: [...open, 'expired', ...ended],
}

/** The row in another state, waiting for nothing and held by nobody. */
export function without({ sequence, identifier, priority, attempt }: ModelRow, state: TaskState): ModelRow {
  return { sequence, identifier, priority, attempt, state }
}

export function ownerOf({ owner }: ModelRow): { owner?: string } {
  return owner === undefined ? {} : { owner }
}

const numbers: Readonly<Record<string, number>> = { expired: 2, failed: 3, suspended: 4 }
const strictness = (condition: PollCondition): number => {
  if (condition === 'singular-by-identifier-suspend-until-success') return 4
  return condition === 'singular-by-identifier-suspend-on-failure' ? 3 : 1
}

/** One topic at READ COMMITTED, with as many open transactions as there are sessions. */
export class Model {
  readonly topic: ModelTopic
  readonly #committed: Map<number, ModelRow> = new Map()
  /** What each open transaction has written, seen by nobody else; whoever wrote to a row holds its lock. Undefined: deleted. */
  readonly #writes: Map<number, Map<number, ModelRow | undefined>> = new Map()

  constructor(topic: ModelTopic) {
    this.topic = topic
  }

  isOpen(session: number): boolean {
    return this.#writes.has(session)
  }

  get open(): number[] {
    return [...this.#writes.keys()]
  }

  begin(session: number): void {
    this.#writes.set(session, new Map())
  }

  commit(session: number): void {
    for (const [sequence, row] of this.#writes.get(session) ?? []) {
      if (row) this.#committed.set(sequence, row)
      else this.#committed.delete(sequence)
    }
    this.#writes.delete(session)
  }

  rollback(session: number): void {
    this.#writes.delete(session)
  }

  /** Whether another open transaction has written to the row. */
  isLocked(session: number | undefined, sequence: number): boolean {
    return [...this.#writes].some(([other, writes]) => other !== session && writes.has(sequence))
  }

  write(session: number | undefined, row: ModelRow): void {
    ;(session === undefined ? this.#committed : this.#writes.get(session))?.set(row.sequence, row)
  }

  remove(session: number, sequence: number): void {
    this.#writes.get(session)?.set(sequence, undefined)
  }

  /** What an open transaction has written and not deleted. */
  written(session: number): ModelRow[] {
    return [...(this.#writes.get(session)?.values() ?? [])].filter((row) => row !== undefined)
  }

  /** What a session sees, in order: what is committed, and its own. */
  rows(session?: number): ModelRow[] {
    const seen = new Map<number, ModelRow | undefined>(this.#committed)
    for (const [sequence, row] of (session === undefined ? undefined : this.#writes.get(session)) ?? []) seen.set(sequence, row)
    return [...seen.values()].filter((row) => row !== undefined).toSorted((left, right) => left.sequence - right.sequence)
  }

  row(session: number, sequence: number): ModelRow | undefined {
    return this.rows(session).find((row) => row.sequence === sequence)
  }

  /** The fence: whether a session still holds what it once polled. */
  holds(session: number, owner: string, task: HeldTask): boolean {
    const row = this.row(session, task.sequence)
    return row?.state === 'active' && row.owner === owner && row.attempt === task.attempt
  }

  /** What a poll takes that nobody disturbs: one after the other, each under the condition that those before it leave. */
  pollable(session: number | undefined, size: number): ModelRow[] {
    let rows = this.rows(session)
    const taken: ModelRow[] = []
    for (const row of this.#inOrder(rows.filter(({ state }) => state === 'ready'))) {
      if (taken.length >= size) break
      if (!this.mayTake(rows, row)) continue
      taken.push(row)
      rows = rows.map((one) => (one === row ? { ...row, state: 'active' } : one))
    }
    return taken
  }

  /** Whether a ready row may be taken beside these others. */
  mayTake(rows: readonly ModelRow[], row: ModelRow): boolean {
    const { order, condition } = this.topic
    if (condition === 'none') return true
    return !rows.some((other) => {
      if (other.identifier !== row.identifier || other.sequence === row.sequence) return false
      if (other.state === 'active') return true
      if (order === 'lifo' ? other.sequence < row.sequence : other.sequence > row.sequence) return false
      if (other.state === 'ready' || filterStateOf(other) === 'delayed') return true
      return (numbers[other.state] ?? 9) <= strictness(condition)
    })
  }

  #inOrder(rows: ModelRow[]): ModelRow[] {
    const { order } = this.topic
    return rows.toSorted((left, right) => {
      if (order === 'lifo') return right.sequence - left.sequence
      return (order === 'priority' ? right.priority - left.priority : 0) || left.sequence - right.sequence
    })
  }

  states(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const state of this.rows().map(filterStateOf)) counts[state] = (counts[state] ?? 0) + 1
    return counts
  }
}
