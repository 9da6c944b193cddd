/** What is to be done to tasks, and to which. */
import { checkInteger, checkRescheduling, invalid, stateOf } from '@taskstream/task-api'
import type {
  FilterState,
  JsonValue,
  Rescheduling,
  RevivableState,
  TaskFilter,
  TaskResult,
  TaskSelector,
} from '@taskstream/task-api'

/** Which tasks an action is done to: those that are named, or all that meet a filter. */
export interface Chosen {
  /** What the tasks meet; an action has states of its own where none are given. */
  readonly filter?: TaskFilter
  /** Only tasks that are named, 1 to 1000 names. They need not have been there at `asOf`. */
  readonly named?: readonly TaskSelector[]
  /** Only tasks whose last attempt failed by this kind of error. */
  readonly fingerprint?: string
  /** Only the newest so many, 1 to 1000: to see whether it helps, before the rest. */
  readonly try?: number
}

/** An action on many tasks of a topic. */
export type ActionRequest = { readonly topic: string } & Chosen &
  (
    | { readonly action: 'redrive' }
    | { readonly action: 'cancel' }
    | { readonly action: 'reschedule'; readonly to: Rescheduling }
    | { readonly action: 'reassign'; readonly result: TaskResult }
    | { readonly action: 'purge' }
  )

export type ActionName = ActionRequest['action']

const revivable: readonly RevivableState[] = ['expired', 'failed', 'suspended', 'delayed', 'filtered', 'succeeded']

interface States {
  /** The states of tasks to which the action can be done. */
  readonly allowed: readonly FilterState[]
  /** Those that are meant if a filter names none, and if tasks are named. */
  readonly meant: readonly FilterState[]
  readonly named?: readonly FilterState[]
}

const unended: readonly FilterState[] = ['active', 'ready', 'delayed', 'blocked', 'suspended', 'expired']
const waiting: readonly FilterState[] = ['ready', 'delayed']
const ended: readonly FilterState[] = ['failed', 'suspended', 'filtered', 'succeeded', 'recreated', 'redundant']

const statesOf: Readonly<Record<ActionName, States>> = {
  // A task that has succeeded is done again only if its state is named.
  redrive: { allowed: revivable, meant: ['failed'], named: revivable.filter((state) => state !== 'succeeded') },
  cancel: { allowed: unended, meant: unended },
  reschedule: { allowed: waiting, meant: waiting },
  reassign: { allowed: revivable, meant: [] },
  purge: { allowed: [...ended, ...unended], meant: ended },
}

/** The filter of a request, with the states that it means. @throws TaskError ARGUMENT_INVALID if the action cannot be done to tasks in these states */
export function filterOf(request: ActionRequest): TaskFilter & { readonly states: readonly FilterState[] } {
  const { action, filter = {}, named, fingerprint } = request
  if (named !== undefined && (fingerprint !== undefined || request.try !== undefined))
    throw invalid('named', named, 'cannot be given together with fingerprint or try')
  if (named !== undefined) checkInteger('the number of named tasks', named.length, 1, 1_000)
  if (request.try !== undefined) checkInteger('try', request.try, 1, 1_000)
  const { allowed, meant, named: ofNamed = meant } = statesOf[action]
  const states = filter.states ?? (named === undefined ? meant : ofNamed)
  const wrong = states.filter((state) => !allowed.includes(state))
  if (wrong.length > 0 || states.length === 0)
    throw invalid('states', states, `must be of ${allowed.join(', ')} for the action ${action}`)
  if (request.action === 'reschedule') checkRescheduling(request.to)
  if (request.action === 'reassign' && states.includes(stateOf(request.result)))
    throw invalid('result', request.result, 'is the state that the tasks have already')
  return { ...filter, states }
}

/** By what the tasks were chosen, for the record. */
export function chosenOf({ filter, named, fingerprint, ...request }: ActionRequest): JsonValue {
  const chosen = {
    ...filter,
    ...(named !== undefined && { named: named.slice(0, 20) }),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(request.try !== undefined && { try: request.try }),
    ...(request.action === 'reschedule' && { to: request.to }),
    ...(request.action === 'reassign' && { result: request.result }),
  }
  return JSON.parse(JSON.stringify(chosen)) as JsonValue
}
