/** The repository in memory: what rows there are, and who sees, holds and has locked what while transactions are open. */
import { isHeld } from '../packages/task-sql/src/core/lease.ts'
import type { HeldTask } from '@taskstream/task-api'
import type { ModelRow } from './properties/rows.ts'

/** What an open transaction has done. */
interface Open {
  /** Seen by nobody else. Undefined: deleted. */
  readonly writes: Map<number, ModelRow | undefined>
  /** Rows that it has locked and not written. */
  readonly locks: Set<number>
  /** The attempts of rows that it has polled, and only locked for that. */
  readonly taken: Map<number, number>
  /** Identifiers that it has joined: another that joins them waits for it. */
  readonly joined: Set<string>
  /** It has pushed tasks with external ids, whatever became of them. */
  namesTasks: boolean
}

/** One topic at READ COMMITTED, with as many open transactions as there are sessions. */
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

  /** Outside of any transaction what is written is committed. */
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

  /** Whether a session has polled the row, and only locked it. */
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

  /** The other sessions that have joined one of these. */
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

  /** What a session has locked, or written. */
  lockedBy(session: number): number[] {
    const { writes, locks } = this.#open.get(session)!
    return [...writes.keys(), ...locks]
  }

  isLocked(session: number | undefined, sequence: number): boolean {
    return this.lockers(session, sequence).length > 0
  }

  /** What an open transaction has made of rows, beside what they were. */
  written(session: number): { readonly before: ModelRow | undefined; readonly after: ModelRow | undefined }[] {
    const writes = this.#open.get(session)?.writes ?? []
    return [...writes].map(([sequence, after]) => ({ before: this.#committed.get(sequence), after }))
  }

  /** What a session sees, in order: what is committed, and its own. */
  rows(session?: number): ModelRow[] {
    const seen = new Map<number, ModelRow | undefined>(this.#committed)
    if (session !== undefined) for (const [sequence, row] of this.#open.get(session)?.writes ?? []) seen.set(sequence, row)
    return [...seen.values()].filter((row) => row !== undefined).toSorted((left, right) => left.sequence - right.sequence)
  }

  row(session: number | undefined, sequence: number): ModelRow | undefined {
    const writes = session === undefined ? undefined : this.#open.get(session)?.writes
    return writes?.has(sequence) ? writes.get(sequence) : this.#committed.get(sequence)
  }

  /** The fence: whether a session holds what it once polled, as its own rows or only locked. */
  holds(session: number, owner: string, task: HeldTask): boolean {
    const row = this.row(session, task.sequence)
    if (!row) return false
    if (isOnlyLocked(task)) return row.attempt === task.attempt - 1 && this.hasTaken(session, row)
    return row.state === 'active' && row.owner === owner && row.attempt === task.attempt
  }
}

/** Of a poll for its transaction only: the database may lock a task, and not write it. */
export function isOnlyLocked(task: Pick<HeldTask, 'lease'>): boolean {
  return isHeld(task, 'locked')
}
