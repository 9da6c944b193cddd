/** The repository in memory: what rows there are, and who sees and holds what while transactions are open. */
import type { HeldTask, TaskState } from '@taskstream/task-api'

export interface ModelRow {
  readonly sequence: number
  readonly identifier: string
  readonly state: TaskState
  readonly owner?: string
  readonly attempt: number
  readonly due?: number
}

/** One topic at READ COMMITTED, with as many open transactions as there are sessions. */
export class Model {
  readonly #committed: Map<number, ModelRow> = new Map()
  /** What each open transaction has written, seen by nobody else; whoever wrote to a row holds its lock. */
  readonly #writes: Map<number, Map<number, ModelRow>> = new Map()

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
    for (const [sequence, row] of this.#writes.get(session) ?? []) this.#committed.set(sequence, row)
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

  /** What a session sees, in order: what is committed, and its own. */
  rows(session?: number): ModelRow[] {
    const seen = new Map(this.#committed)
    for (const [sequence, row] of (session === undefined ? undefined : this.#writes.get(session)) ?? []) seen.set(sequence, row)
    return [...seen.values()].toSorted((left, right) => left.sequence - right.sequence)
  }

  row(session: number, sequence: number): ModelRow | undefined {
    return this.rows(session).find((row) => row.sequence === sequence)
  }

  /** The fence: whether a session still holds what it once polled. */
  holds(session: number, owner: string, task: HeldTask): boolean {
    const row = this.row(session, task.sequence)
    return row?.state === 'active' && row.owner === owner && row.attempt === task.attempt
  }

  states(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { state } of this.rows()) counts[state] = (counts[state] ?? 0) + 1
    return counts
  }
}
