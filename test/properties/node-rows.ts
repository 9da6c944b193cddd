/** The expected rows of one topic: which may be polled next, and how decisions change them. */
import type { HeldTask, PushedTask, TaskCreation, TaskDecision, TaskInfo, TaskReason, TaskState } from '@taskstream/task-api'
import type { ModelTopic } from './claims.ts'

export interface NodeRow {
  readonly sequence: number
  readonly identifier: string
  readonly priority: number
  readonly maxTries: number | undefined
  readonly deadlineMs: number | undefined
  readonly state: TaskState
  readonly reason: TaskReason | undefined
  readonly dueMs: number | undefined
  readonly owner: string | undefined
  readonly attempt: number
  readonly tries: number
}

/** By condition, the states in which a task blocks later ones of its identifier, besides active, ready and delayed. */
const inTheWay: Readonly<Record<ModelTopic['condition'], readonly TaskState[]>> = {
  none: [],
  'singular-by-identifier': [],
  'singular-by-identifier-suspend-on-failure': ['failed', 'expired'],
  'singular-by-identifier-suspend-until-success': ['failed', 'expired', 'suspended'],
}

export class NodeRows {
  readonly #topic: ModelTopic
  readonly #rows: Map<number, NodeRow> = new Map()

  constructor(topic: ModelTopic) {
    this.#topic = topic
  }

  get all(): NodeRow[] {
    return [...this.#rows.values()]
  }

  has(sequence: number): boolean {
    return this.#rows.has(sequence)
  }

  row(sequence: number): NodeRow {
    return this.#rows.get(sequence)!
  }

  push(tasks: readonly PushedTask[], creations: readonly TaskCreation[], nowMs: number): void {
    for (const [index, { sequence, identifier }] of tasks.entries()) {
      const { priority = 0, maxTries, delayMs, deadlineMs } = creations[index]!
      this.#rows.set(sequence, {
        sequence,
        identifier,
        priority,
        maxTries,
        deadlineMs: deadlineMs === undefined ? undefined : nowMs + deadlineMs,
        state: delayMs === undefined ? 'ready' : 'suspended',
        reason: undefined,
        dueMs: delayMs === undefined ? undefined : nowMs + delayMs,
        owner: undefined,
        attempt: 0,
        tries: 0,
      })
    }
  }

  /** Takes a row over from the database, where a verb says only how many rows it has changed. */
  learn(info: TaskInfo): void {
    const { sequence, state, reason, due, owner, attempt, tries } = info
    this.#rows.set(sequence, { ...this.row(sequence), state, reason, dueMs: due?.getTime(), owner, attempt, tries })
  }

  take({ sequence, attempt, tries }: HeldTask, owner: string): void {
    this.#rows.set(sequence, { ...this.row(sequence), state: 'active', reason: undefined, owner, attempt, tries })
  }

  complete(
    { sequence, attempt, tries }: HeldTask,
    { state, reason, retryAfterMs }: TaskDecision,
    owner: string,
    nowMs: number,
  ): void {
    const row = this.row(sequence)
    const exhausted = retryAfterMs !== undefined && row.maxTries !== undefined && tries >= row.maxTries
    this.#rows.set(sequence, {
      ...row,
      state: exhausted ? 'failed' : state,
      reason: exhausted ? 'tries' : reason,
      dueMs: retryAfterMs === undefined || exhausted ? undefined : nowMs + retryAfterMs,
      owner,
      attempt,
      tries,
    })
  }

  handBack({ sequence }: HeldTask): void {
    const row = this.row(sequence)
    this.#rows.set(sequence, { ...row, state: 'ready', owner: undefined, tries: row.tries - 1 })
  }

  /** Whether a row is held by this owner as it was polled. */
  isHeld({ sequence, attempt }: HeldTask, owner: string): boolean {
    const row = this.row(sequence)
    return row.state === 'active' && row.owner === owner && row.attempt === attempt
  }

  /** Whether the task was polled again after this poll. */
  isTakenAgain({ sequence, attempt }: HeldTask): boolean {
    return this.row(sequence).attempt > attempt
  }

  /** Whether the task has ended, by whichever attempt of this owner. */
  isEndedBy({ sequence }: HeldTask, owner: string): boolean {
    const row = this.row(sequence)
    return row.owner === owner && (row.state === 'succeeded' || row.state === 'failed' || row.state === 'filtered')
  }

  /** Whether the task failed or expired after this poll, and was not polled again. */
  hasFailed({ sequence, attempt }: HeldTask): boolean {
    const row = this.row(sequence)
    return row.attempt === attempt && (row.state === 'failed' || row.state === 'expired')
  }

  /** Returns what a poll brings that nobody disturbs. It looks for more while it finds tasks that are past their deadlines. */
  predict(size: number, nowMs: number): number[] {
    let rows = this.all
    const held: NodeRow[] = []
    for (let late = true; late && held.length < size;) {
      late = false
      for (const row of this.#takeable(rows, size - held.length)) {
        const isLate = row.deadlineMs !== undefined && row.deadlineMs <= nowMs
        late ||= isLate
        if (!isLate) held.push(row)
        rows = rows.map((one) => (one.sequence === row.sequence ? { ...row, state: isLate ? 'filtered' : 'active' } : one))
      }
    }
    return held.toSorted((left, right) => this.#order(left, right)).map(({ sequence }) => sequence)
  }

  /** Returns the rows that could be polled once due tasks are promoted. @param locked rows that open transactions hold */
  open(nowMs: number, locked: ReadonlySet<number> = new Set()): NodeRow[] {
    const rows = this.all.map((row) => {
      if (locked.has(row.sequence)) return { ...row, state: 'active' as const }
      return isDelayed(row) && row.dueMs! <= nowMs ? { ...row, state: 'ready' as const } : row
    })
    return this.#takeable(rows, Infinity)
  }

  /** Whether no task is active, delayed or free to be polled. */
  get areDone(): boolean {
    return this.all.every((row) => row.state !== 'active' && !isDelayed(row)) && this.open(0).length === 0
  }

  #takeable(rows: readonly NodeRow[], most: number): NodeRow[] {
    const taken: NodeRow[] = []
    let seen = rows
    for (const row of rows.filter(({ state }) => state === 'ready').toSorted((left, right) => this.#order(left, right))) {
      if (taken.length >= most) break
      if (seen.some((other) => this.#isInTheWay(other, row))) continue
      taken.push(row)
      seen = seen.map((one) => (one === row ? { ...row, state: 'active' } : one))
    }
    return taken
  }

  #isInTheWay(other: NodeRow, row: NodeRow): boolean {
    const { order, condition } = this.#topic
    if (condition === 'none' || other.identifier !== row.identifier || other.sequence === row.sequence) return false
    if (other.state === 'active') return true
    const isBefore = order === 'lifo' ? other.sequence > row.sequence : other.sequence < row.sequence
    return isBefore && (other.state === 'ready' || isDelayed(other) || inTheWay[condition].includes(other.state))
  }

  #order(left: NodeRow, right: NodeRow): number {
    const { order } = this.#topic
    if (order === 'lifo') return right.sequence - left.sequence
    return (order === 'priority' ? right.priority - left.priority : 0) || left.sequence - right.sequence
  }
}

export function isDelayed({ state, dueMs }: Pick<NodeRow, 'state' | 'dueMs'>): boolean {
  return state === 'suspended' && dueMs !== undefined
}
