/** The model: the tasks of one topic as each connection sees them at READ COMMITTED, with transactions and savepoints. */

export interface LedgerRow {
  readonly sequence: number
  readonly state: 'ready' | 'active' | 'done'
  readonly owner?: string
  readonly attempt: number
}

/** The rows that a transaction has written since a savepoint, or since it began. */
type Frame = Map<number, LedgerRow>

interface Open {
  readonly frames: Frame[]
  /** Rows that were written after a savepoint and rolled back to it. Not every database unlocks them at once. */
  readonly undone: Set<number>
  /** Rows polled with the hold `transaction`. They are ready again when it ends, unless they were completed. */
  readonly lent: Set<number>
}

export class Ledger {
  readonly #committed: Frame = new Map()
  readonly #open: Map<string, Open> = new Map()

  isOpen(connection: string): boolean {
    return this.#open.has(connection)
  }

  begin(connection: string): void {
    this.#open.set(connection, { frames: [new Map()], undone: new Set(), lent: new Set() })
  }

  savepoint(connection: string): void {
    this.#open.get(connection)!.frames.push(new Map())
  }

  releaseSavepoint(connection: string): void {
    const { frames } = this.#open.get(connection)!
    for (const [sequence, row] of frames.pop()!) frames.at(-1)!.set(sequence, row)
  }

  /** Undoes the writes since the savepoint. The savepoint itself stays. */
  rollbackToSavepoint(connection: string): void {
    const { frames, undone } = this.#open.get(connection)!
    for (const sequence of frames.at(-1)!.keys()) undone.add(sequence)
    frames[frames.length - 1] = new Map()
  }

  commit(connection: string, lends: boolean): void {
    const { frames, lent } = this.#open.get(connection)!
    this.#open.delete(connection)
    for (const [sequence, row] of frames.flatMap((frame) => [...frame]))
      if (!(lends && row.state === 'active' && lent.has(sequence))) this.#committed.set(sequence, row)
  }

  rollback(connection: string): void {
    this.#open.delete(connection)
  }

  write(connection: string, row: LedgerRow, lent = false): void {
    const open = this.#open.get(connection)!
    open.frames.at(-1)!.set(row.sequence, row)
    if (lent) open.lent.add(row.sequence)
  }

  row(connection: string, sequence: number): LedgerRow | undefined {
    const written = this.#open.get(connection)?.frames.findLast((frame) => frame.has(sequence))
    return (written ?? this.#committed).get(sequence)
  }

  /** The rows in the order of their sequences. */
  rows(connection: string): LedgerRow[] {
    const frames = this.#open.get(connection)?.frames ?? []
    const sequences = new Set([this.#committed, ...frames].flatMap((frame) => [...frame.keys()]))
    return [...sequences].toSorted((left, right) => left - right).map((sequence) => this.row(connection, sequence)!)
  }

  isLockedByOthers(connection: string, sequence: number): boolean {
    return [...this.#open].some(([other, { frames }]) => other !== connection && frames.some((frame) => frame.has(sequence)))
  }

  mayBeLockedByOthers(connection: string, sequence: number): boolean {
    return [...this.#open].some(([other, { undone }]) => other !== connection && undone.has(sequence))
  }
}
