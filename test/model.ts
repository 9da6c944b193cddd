/** A model of the repository in memory: the rows, and what each open transaction sees, holds and has locked. */
import { isHeld } from '../packages/task-sql/src/core/lease.ts'
import type { HeldTask } from '@taskstream/task-api'
import type { ModelRow } from './properties/rows.ts'

/** The effects of one open transaction. */
interface Open {
  /** Rows that only this transaction sees. Undefined: the row is deleted. */
  readonly writes: Map<number, ModelRow | undefined>
  /** Rows that the transaction has locked and not written. */
  readonly locks: Set<number>
  /** Attempts of rows that the transaction has polled by locking them only. */
  readonly taken: Map<number, number>
  /** Identifiers that the transaction has joined. Another transaction that joins one of them waits. */
  readonly joined: Set<string>
  /** Whether the transaction has pushed tasks with external ids, whatever became of them. */
  namesTasks: boolean
}

/** One topic at READ COMMITTED, with an open transaction for each session at most. */
export class Model {
  readonly #committed: Map<number, ModelRow> = new Map()
  readonly #open: Map<number, Open> = new Map()

  isOpen(session: number): boolean {
    return this.#open.has(session)
  }

  get open(): number[] {
    return [...this.#open.keys()]
  }

  others(session: number): number[] {
    return this.open.filter((other) => other !== session)
  }

  begin(session: number): void {
    this.#open.set(session, { writes: new Map(), locks: new Set(), taken: new Map(), joined: new Set(), namesTasks: false })
  }

  commit(session: number): void {
    for (const [sequence, row] of this.#open.get(session)?.writes ?? []) {
      if (row) this.#committed.set(sequence, row)
      else this.#committed.delete(sequence)
    }
    this.#open.delete(session)
  }

  rollback(session: number): void {
    this.#open.delete(session)
  }

  /** Without a session the row is committed at once. */
  write(session: number | undefined, row: ModelRow): void {
    ;(session === undefined ? this.#committed : this.#open.get(session)?.writes)?.set(row.sequence, row)
  }

  remove(session: number, sequence: number): void {
    this.#open.get(session)?.writes.set(sequence, undefined)
  }

  lock(session: number, sequence: number): void {
    this.#open.get(session)?.locks.add(sequence)
  }

  take(session: number, { sequence, attempt }: ModelRow): void {
    this.lock(session, sequence)
    this.#open.get(session)?.taken.set(sequence, attempt)
  }

  /** Whether a session has polled the row by locking it only. */
  hasTaken(session: number, { sequence, attempt, state }: ModelRow): boolean {
    return state === 'ready' && this.#open.get(session)?.taken.get(sequence) === attempt
  }

  nameTasks(session: number): void {
    this.#open.get(session)!.namesTasks = true
  }

  /** Whether an open transaction has pushed tasks with external ids. */
  get someNameTasks(): boolean {
    return [...this.#open.values()].some(({ namesTasks }) => namesTasks)
  }

  join(session: number, identifiers: readonly string[]): void {
    for (const identifier of identifiers) this.#open.get(session)?.joined.add(identifier)
  }

  /** The other sessions that have joined one of these identifiers. */
  joiners(session: number, identifiers: readonly string[]): number[] {
    return this.others(session).filter((other) => identifiers.some((one) => this.#open.get(other)?.joined.has(one)))
  }

  /** The other sessions that have locked the row. */
  lockers(session: number | undefined, sequence: number): number[] {
    return this.open.filter((other) => {
      const { writes, locks } = this.#open.get(other)!
      return other !== session && (writes.has(sequence) || locks.has(sequence))
    })
  }

  /** The rows that a session has locked or written. */
  lockedBy(session: number): number[] {
    const { writes, locks } = this.#open.get(session)!
    return [...writes.keys(), ...locks]
  }

  isLocked(session: number | undefined, sequence: number): boolean {
    return this.lockers(session, sequence).length > 0
  }

  /** The rows that an open transaction has written, before and after. */
  written(session: number): { readonly before: ModelRow | undefined; readonly after: ModelRow | undefined }[] {
    const writes = this.#open.get(session)?.writes ?? []
    return [...writes].map(([sequence, after]) => ({ before: this.#committed.get(sequence), after }))
  }

  /** The rows that a session sees, in order: the committed ones, replaced by its own. */
  rows(session?: number): ModelRow[] {
    const seen = new Map<number, ModelRow | undefined>(this.#committed)
    if (session !== undefined) for (const [sequence, row] of this.#open.get(session)?.writes ?? []) seen.set(sequence, row)
    return [...seen.values()].filter((row) => row !== undefined).toSorted((left, right) => left.sequence - right.sequence)
  }

  row(session: number | undefined, sequence: number): ModelRow | undefined {
    const writes = session === undefined ? undefined : this.#open.get(session)?.writes
    return writes?.has(sequence) ? writes.get(sequence) : this.#committed.get(sequence)
  }

  /** The fence: whether a session still holds the task, as a written or as an only locked row. */
  holds(session: number, owner: string, task: HeldTask): boolean {
    const row = this.row(session, task.sequence)
    if (!row) return false
    if (isOnlyLocked(task)) return row.attempt === task.attempt - 1 && this.hasTaken(session, row)
    return row.state === 'active' && row.owner === owner && row.attempt === task.attempt
  }
}

/** Whether a poll with the hold `transaction` has only locked the task, as the database may do, instead of writing it. */
export function isOnlyLocked(task: Pick<HeldTask, 'lease'>): boolean {
  return isHeld(task, 'locked')
}
