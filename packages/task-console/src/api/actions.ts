/** What is done to tasks: seen first, done in portions, kept in the audit. */
import type { FilterState, Rescheduling, TaskFilter, TaskReason } from '@taskstream/task-api'
import { act, preview } from '@taskstream/task-operations'
import type { ActionCursor, ActionRequest, Chosen, Operator } from '@taskstream/task-operations'
import { checkSeen } from '../core/context.ts'
import { Problem } from '../core/problem.ts'
import type { Asked } from './route.ts'
import { readTask } from './tasks.ts'

/** What is done to tasks. The words are those of commands and paths. */
export type Deed = 'redrive' | 'cancel' | 'run-now' | 'reschedule' | 'purge'

export interface DeedAsked {
  readonly topic: string
  readonly deed: Deed
  readonly filter?: {
    readonly states?: readonly FilterState[] | undefined
    readonly identifier?: string | undefined
    readonly reference?: string | undefined
    readonly reason?: TaskReason | undefined
    readonly from?: number | undefined
    readonly to?: number | undefined
  }
  /** What a rescheduling changes. */
  readonly schedule?: Rescheduling | undefined
  readonly fingerprint?: string | undefined
  /** Only the newest so many. */
  readonly try?: number | undefined
  /** The only task that is meant. */
  readonly sequence?: number | undefined
  readonly dryRun: boolean
  readonly note?: string | undefined
  /** From the dry run: what has changed since is not meant, and no more is done than was shown. */
  readonly asOf?: Date | undefined
  readonly to?: number | undefined
  readonly limit?: number | undefined
  /** From the answer before, if there is more. */
  readonly after?: ActionCursor | undefined
}

export interface Previewed {
  readonly dryRun: true
  readonly count: number
  readonly asOf: Date
  readonly states: Readonly<Partial<Record<FilterState, number>>>
  readonly tasks: readonly {
    readonly topic: string
    readonly sequence: number
    readonly identifier: string
    readonly state: FilterState
  }[]
  /** For `to` of the action itself. */
  readonly to?: number
}

export interface Done {
  readonly dryRun: false
  readonly count: number
  readonly first?: number
  readonly last?: number
  /** How many of them were at work. */
  readonly taken: number
  /** The id for the audit and for an undo. */
  readonly audit?: string
  /** Whether to ask again, with `after`. */
  readonly more: boolean
  readonly after?: ActionCursor
}

/** A request takes no longer than about so many milliseconds: it ends after the portion that runs then. */
const mostMs = 1_500

export function operatorOf({ tasks, transactions, writing, access, via }: Asked, note?: string): Operator {
  return { tasks, transactions: writing, reading: transactions, actor: access.name, via, ...(note !== undefined && { note }) }
}

/** @throws Problem READ_ONLY */
export function checkWritable({ readOnly }: Asked): void {
  if (readOnly) throw new Problem('READ_ONLY', 405, 'This console is read-only: nobody may change anything here.')
}

export async function doDeed(asked: Asked, given: DeedAsked): Promise<Previewed | Done> {
  const { topic, dryRun, note, asOf, to, limit, after, sequence } = given
  checkSeen(asked, topic)
  const request = requestOf(given)
  const operator = operatorOf(asked, note)
  if (dryRun) {
    const seen = await preview(operator, request)
    return {
      dryRun,
      count: seen.count,
      asOf: seen.asOf,
      states: seen.states,
      tasks: seen.tasks.map((task) => ({ topic, sequence: task.sequence, identifier: task.identifier, state: task.state })),
      ...(seen.last !== undefined && { to: seen.last }),
    }
  }
  if (asOf === undefined && sequence === undefined)
    throw new Problem(
      'ARGUMENT_INVALID',
      400,
      'What is done to many tasks has to be seen before: ask with dryRun, and again with its asOf.',
      { argument: 'asOf' },
    )
  const acted = await act(operator, request, {
    asOf: asOf ?? new Date(),
    ...(to !== undefined && { to }),
    ...(limit !== undefined && { limit }),
    ...(after !== undefined && { after }),
    signal: AbortSignal.timeout(mostMs),
  })
  // What was done stays done, and the answer says how much that is. If this call has done nothing, to ask again would bring the same error.
  if (acted.stopped?.error !== undefined && acted.count === (after?.done ?? 0)) throw acted.stopped.error
  return {
    dryRun,
    count: acted.count,
    taken: acted.taken,
    more: acted.next !== undefined,
    ...(acted.first !== undefined && { first: acted.first }),
    ...(acted.last !== undefined && { last: acted.last }),
    ...(acted.id !== undefined && { audit: acted.id }),
    ...(acted.next !== undefined && { after: acted.next }),
  }
}

/** Does something to one task, however it is named. */
export async function doToTask(
  asked: Asked,
  given: Omit<DeedAsked, 'sequence'> & { readonly ref: string },
): Promise<Previewed | Done> {
  const { ref, ...rest } = given
  const { sequence } = await readTask(asked, { topic: given.topic, ref })
  return doDeed(asked, { ...rest, sequence })
}

function requestOf({ topic, deed, filter = {}, schedule = {}, fingerprint, sequence, ...given }: DeedAsked): ActionRequest {
  const there = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as TaskFilter
  const chosen: Chosen & { readonly topic: string } = {
    topic,
    ...(sequence === undefined ? { filter: there } : { named: [sequence] }),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(given.try !== undefined && { try: given.try }),
  }
  if (deed !== 'run-now' && deed !== 'reschedule') return { ...chosen, action: deed }
  const to = deed === 'run-now' ? { delayMs: 0 } : schedule
  if (Object.values(to).every((value) => value === undefined))
    throw new Problem(
      'ARGUMENT_INVALID',
      400,
      'Say what is to change: when the tasks are due, their deadline or their priority.',
      {
        argument: 'schedule',
      },
    )
  return { ...chosen, action: 'reschedule', to }
}
