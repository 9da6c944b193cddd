/** The model of rows: how each verb changes a row, column by column. */
import { stateNumber } from '@taskstream/task-api'
import type { FilterState, Insertion, Rescheduling, TaskDecision, TaskInfo, TaskState } from '@taskstream/task-api'

export type ModelRow = TaskInfo

type Changes = { readonly [Name in keyof ModelRow]?: ModelRow[Name] | undefined }

/** Returns the row with changed values. An undefined value removes its column. */
export function change(row: ModelRow, changes: Changes): ModelRow {
  const left = Object.entries({ ...row, ...changes }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(left) as unknown as ModelRow
}

/** Returns the state by which a row is filtered and counted. */
export function filterStateOf({ state, due }: ModelRow): FilterState {
  return state === 'suspended' && due !== undefined ? 'delayed' : state
}

/** The states that count as ended. A purge without named states deletes rows in these states. */
export const ended: readonly FilterState[] = ['failed', 'suspended', 'filtered', 'succeeded', 'recreated', 'redundant']
export const revivable = ['expired', 'failed', 'suspended', 'delayed', 'filtered', 'succeeded'] as const

const open: readonly FilterState[] = ['ready', 'delayed']
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
    const { state, reason, retryAfterMs } = decision
    const written = { completed: now, output: decision.toMessage() }
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
    change(become.reset(row), { sequence, state, descent: 'ready', attempt: 0, created: now }),
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
  expired: (row: ModelRow): ModelRow => change(row, { state: 'expired', reason: 'lease' }),
  /** Taken from a dead owner, with tries left or not. */
  recovered: (row: ModelRow, now: Date): ModelRow =>
    isExhausted(row)
      ? change(row, { state: 'failed', reason: 'tries', completed: now })
      : change(row, { state: 'ready', reason: 'lease', completed: undefined, owner: undefined }),
}
