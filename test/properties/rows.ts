/** The model of rows: how each verb changes a row, column by column. */
import { stateNumber } from '@taskstream/task-api'
import type {
  AttemptOutcome,
  FilterState,
  Insertion,
  Rescheduling,
  TaskAttempt,
  TaskDecision,
  TaskInfo,
  TaskState,
} from '@taskstream/task-api'

export interface ModelRow extends TaskInfo {
  /** What a succeeded task returns, in a table of its own. */
  readonly value?: string
  /** Its attempts that neither succeeded nor filtered it. Absent if there is none. */
  readonly history?: readonly TaskAttempt[]
}

type Changes = { readonly [Name in keyof ModelRow]?: ModelRow[Name] | undefined }

/** Returns the row with changed values. An undefined value removes its column. Only a task that has succeeded returns something. */
export function change(row: ModelRow, changes: Changes): ModelRow {
  const changed: Changes = { ...row, ...changes }
  const left = Object.entries(changed).filter(
    ([name, value]) => value !== undefined && (name !== 'value' || changed.state === 'succeeded'),
  )
  return Object.fromEntries(left) as unknown as ModelRow
}

/** Returns the row as a page has it. */
export function withoutHistory({ history: _history, ...row }: ModelRow): TaskInfo {
  return row
}

/** Returns the row after an attempt of its owner, who held it as `held`. The messages of decisions are short lines. */
function tried(row: ModelRow, held: ModelRow, outcome: AttemptOutcome, now: Date, message?: string): ModelRow {
  const { attempt, started, owner } = held
  const reason = outcome === 'lost' ? 'lease' : row.reason
  const one = change({ attempt, ended: now, outcome, started, reason, owner, error: message, message } as never, {})
  return change(row, { history: [...(held.history ?? []), one as unknown as TaskAttempt] })
}

/** How an attempt has ended; undefined if it is not kept. */
function outcomeOf({ state, reason, due }: ModelRow, { result, refunded }: TaskDecision): AttemptOutcome | undefined {
  if (result === 'success' || result === 'filter' || refunded) return undefined
  if (reason === 'timeout') return 'timeout'
  if (state === 'failed') return 'failed'
  return due === undefined ? 'suspended' : 'retried'
}

/** Returns the state by which a row is filtered and counted. */
export function filterStateOf({ state, due, blocked }: ModelRow): FilterState {
  if (blocked) return 'blocked'
  return state === 'suspended' && due !== undefined ? 'delayed' : state
}

/** The states that count as ended. A purge without named states deletes rows in these states. */
export const ended: readonly FilterState[] = ['failed', 'suspended', 'filtered', 'succeeded', 'recreated', 'redundant']
export const revivable = ['expired', 'failed', 'suspended', 'delayed', 'filtered', 'succeeded'] as const

const open: readonly FilterState[] = ['ready', 'delayed', 'blocked']
/** The states of the older rows of an identifier that each insertion makes redundant or deletes. */
export const olderStates: Readonly<Record<Exclude<Insertion, 'append'>, readonly FilterState[]>> = {
  supersede: open,
  replace: ['ready', ...revivable],
  delete: ['ready', 'expired', 'delayed', ...ended],
}

export function isLate({ deadline }: ModelRow, now: Date): boolean {
  return deadline !== undefined && deadline <= now
}

function isExhausted({ tries, maxTries }: ModelRow): boolean {
  return maxTries !== undefined && tries >= maxTries
}

/** The former state, unless the row has come from one that outweighs it. */
function descentOf({ state, descent }: ModelRow): TaskState {
  return stateNumber(state) > stateNumber(descent) ? state : descent
}

export const become = {
  taken: (row: ModelRow, owner: string, now: Date): ModelRow =>
    change(row, {
      state: 'active',
      reason: undefined,
      owner,
      attempt: row.attempt + 1,
      tries: row.tries + 1,
      started: now,
    }),
  late: (row: ModelRow, now: Date): ModelRow => change(row, { state: 'filtered', reason: 'deadline', completed: now }),
  decided: (row: ModelRow, decision: TaskDecision, now: Date): ModelRow => {
    const ended = become.completed(row, decision, now)
    const outcome = outcomeOf(ended, decision)
    return outcome ? tried(ended, row, outcome, now, decision.toMessage()) : ended
  },
  completed: (row: ModelRow, decision: TaskDecision, now: Date): ModelRow => {
    const { state, reason, retryAfterMs, value } = decision
    const written = { completed: now, output: decision.toMessage(), value }
    if (retryAfterMs === undefined) return change(row, { ...written, state, reason, due: undefined })
    if (isExhausted(row) && !decision.refunded)
      return change(row, { ...written, state: 'failed', reason: 'tries', due: undefined })
    const tries = row.tries - Number(decision.refunded)
    return change(row, { ...written, state, reason, tries, due: new Date(now.getTime() + retryAfterMs) })
  },
  handedBack: (row: ModelRow): ModelRow =>
    change(row, { state: 'ready', owner: undefined, started: undefined, tries: row.tries - 1 }),
  released: (row: ModelRow): ModelRow => change(row, { state: 'ready', due: undefined, completed: undefined }),
  /** As if it had only just been pushed, but for its attempts: a late completion must not win. */
  reset: (row: ModelRow): ModelRow =>
    change(row, {
      state: 'ready',
      tries: 0,
      reason: undefined,
      owner: undefined,
      output: undefined,
      started: undefined,
      completed: undefined,
      due: undefined,
      deadline: undefined,
    }),
  recreated: (row: ModelRow): ModelRow =>
    change(row, { state: 'recreated', descent: row.state, due: undefined, externalId: undefined }),
  /** The new row of one that was recreated. */
  copy: (row: ModelRow, sequence: number, state: TaskState, now: Date): ModelRow =>
    change(become.reset(row), { history: undefined, sequence, state, descent: 'ready', attempt: 0, created: now }),
  redundant: (row: ModelRow): ModelRow => change(row, { state: 'redundant', descent: descentOf(row), due: undefined }),
  reassigned: (row: ModelRow, state: TaskState): ModelRow =>
    change(row, { state, descent: descentOf(row), due: undefined, reason: undefined }),
  cancelled: (row: ModelRow, now: Date): ModelRow =>
    change(row, { state: 'filtered', reason: 'cancelled', due: undefined, completed: now }),
  rescheduled: (row: ModelRow, to: Rescheduling, now: Date): ModelRow => {
    const after = (ms: number | undefined): Date | undefined => (ms === undefined ? undefined : new Date(now.getTime() + ms))
    const due = to.due ?? after(to.delayMs)
    const deadline =
      to.deadline === null ? { deadline: undefined } : { deadline: to.deadline ?? after(to.deadlineMs) ?? row.deadline }
    const changed = change(row, { ...deadline, priority: to.priority ?? row.priority })
    if (due === undefined) return changed
    return due > now ? change(changed, { state: 'suspended', due }) : become.released(changed)
  },
  joined: (row: ModelRow): ModelRow => change(row, { state: 'ready', completed: undefined }),
  expired: (row: ModelRow, now: Date): ModelRow => tried(change(row, { state: 'expired', reason: 'lease' }), row, 'lost', now),
  /** Taken from a dead owner, with tries left or not. */
  recovered: (row: ModelRow, now: Date): ModelRow =>
    tried(
      isExhausted(row)
        ? change(row, { state: 'failed', reason: 'tries', completed: now })
        : change(row, { state: 'ready', reason: 'lease', completed: undefined, owner: undefined }),
      row,
      'lost',
      now,
    ),
}
