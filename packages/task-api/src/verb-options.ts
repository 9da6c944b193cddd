/** The names of the options of each verb, and of the fields of a creation. They are written down only here. */
import { optionNames } from './option-names.ts'
import type { OptionNames } from './option-names.ts'
import type { ActivationOptions } from './task-activation.ts'
import type { PurgeAttemptsOptions } from './task-attempts.ts'
import type { Action, ActionsOptions, PurgeActionsOptions } from './task-audit.ts'
import type { CountOptions, OverviewOptions, PageOptions, PurgeOptions, ResolveOptions, ResultsOptions } from './task-catalog.ts'
import type { SettleOptions } from './task-dependencies.ts'
import type { TaskFilter } from './task-filter.ts'
import type { ErrorsOptions, HeldOptions, UpcomingOptions } from './task-inspection.ts'
import type { LockOptions } from './task-locker.ts'
import type { NodesOptions } from './task-nodes.ts'
import type { ExpireOptions, RegisterOptions } from './task-owners.ts'
import type { TopicOptions } from './task-polling.ts'
import type { Rescheduling } from './task-rescheduler.ts'
import type { RestoreOptions } from './task-restorer.ts'
import type { ReassignAllOptions, RecreateSelection, RedriveOptions } from './task-reviver.ts'
import type { PushOptions } from './task-sink.ts'
import type { CompleteOptions, PollOptions, PromoteDueOptions } from './task-source.ts'
import type { TaskCreation } from './task.ts'
import type { LimitOptions } from './topic-limits.ts'

/** The fields of a filter. `states` is left out, because not every verb with a filter has it. */
const filter: Readonly<Record<Exclude<keyof TaskFilter, 'states'>, true>> = {
  identifier: true,
  reference: true,
  reason: true,
  from: true,
  to: true,
  createdFrom: true,
  createdBefore: true,
  completedFrom: true,
  completedBefore: true,
  changedBefore: true,
}

/** The fields of a `TaskCreation`, for `checkNames`. */
export const creationNames: OptionNames = optionNames<TaskCreation>(
  'a creation',
  {
    identifier: true,
    input: true,
    reference: true,
    externalId: true,
    suspended: true,
    due: true,
    delayMs: true,
    deadline: true,
    deadlineMs: true,
    priority: true,
    maxTries: true,
    headers: true,
  },
  'field',
)

type VerbWithOptions =
  | 'initialize'
  | 'activate'
  | 'deactivate'
  | 'push'
  | 'poll'
  | 'complete'
  | 'promoteDue'
  | 'settle'
  | 'recreate'
  | 'redrive'
  | 'lock'
  | 'restore'
  | 'reassignAll'
  | 'reschedule'
  | 'page'
  | 'overview'
  | 'count'
  | 'results'
  | 'resolve'
  | 'purge'
  | 'purgeAttempts'
  | 'register'
  | 'expire'
  | 'limit'
  | 'record'
  | 'actions'
  | 'purgeActions'
  | 'nodes'
  | 'errors'
  | 'held'
  | 'upcoming'

/** The options of each verb, for `checkNames`. */
export const verbOptions: Readonly<Record<VerbWithOptions, OptionNames>> = {
  initialize: optionNames<TopicOptions>('initialize', { order: true, condition: true, keyed: true, record: true }),
  activate: optionNames<ActivationOptions>('activate', { actor: true, note: true }),
  deactivate: optionNames<ActivationOptions>('deactivate', { actor: true, note: true }),
  push: optionNames<PushOptions>('push', { insertion: true }),
  poll: optionNames<PollOptions>('poll', { size: true, order: true, condition: true, hold: true, shares: true }),
  complete: optionNames<CompleteOptions>('complete', { strict: true, discard: true, traces: true }),
  promoteDue: optionNames<PromoteDueOptions>('promoteDue', { limit: true }),
  settle: optionNames<SettleOptions>('settle', { limit: true }),
  recreate: optionNames<RecreateSelection>('a selection of recreate', { ...filter, state: true, size: true }),
  redrive: optionNames<RedriveOptions>('redrive', { ...filter, states: true, fingerprint: true, dryRun: true, limit: true }),
  lock: optionNames<LockOptions>('lock', {
    ...filter,
    states: true,
    tasks: true,
    fingerprint: true,
    newest: true,
    unneeded: true,
    skipLocked: true,
    dryRun: true,
    limit: true,
  }),
  restore: optionNames<RestoreOptions>('restore', { tasks: true, left: true, made: true }),
  reassignAll: optionNames<ReassignAllOptions>('reassignAll', { from: true, to: true, first: true, last: true }),
  reschedule: optionNames<Rescheduling>('reschedule', {
    due: true,
    delayMs: true,
    deadline: true,
    deadlineMs: true,
    priority: true,
  }),
  page: optionNames<PageOptions>('page', { ...filter, states: true, after: true, before: true, size: true }),
  overview: optionNames<OverviewOptions>('overview', { limit: true }),
  count: optionNames<CountOptions>('count', { ...filter, states: true, topic: true, recent: true, unneeded: true }),
  results: optionNames<ResultsOptions>('results', { from: true, to: true }),
  resolve: optionNames<ResolveOptions>('resolve', { preceding: true, topic: true }),
  purge: optionNames<PurgeOptions>('purge', { ...filter, states: true, olderThanMs: true, sequences: true, limit: true }),
  purgeAttempts: optionNames<PurgeAttemptsOptions>('purgeAttempts', { olderThanMs: true, limit: true }),
  register: optionNames<RegisterOptions>('register', { exclusive: true }),
  expire: optionNames<ExpireOptions>('expire', { olderThanMs: true, then: true, limit: true }),
  limit: optionNames<LimitOptions>('limit', { keep: true }),
  record: optionNames<Action>('record', {
    action: true,
    topic: true,
    actor: true,
    via: true,
    note: true,
    count: true,
    filter: true,
    portion: true,
    sequences: true,
    former: true,
    undoes: true,
    replaces: true,
  }),
  actions: optionNames<ActionsOptions>('actions', {
    id: true,
    portions: true,
    topic: true,
    withinMs: true,
    details: true,
    limit: true,
  }),
  purgeActions: optionNames<PurgeActionsOptions>('purgeActions', { olderThanMs: true, limit: true }),
  nodes: optionNames<NodesOptions>('nodes', { topic: true, withinMs: true }),
  errors: optionNames<ErrorsOptions>('errors', { topic: true, withinMs: true, limit: true }),
  held: optionNames<HeldOptions>('held', { topic: true, owner: true, limit: true }),
  upcoming: optionNames<UpcomingOptions>('upcoming', { limit: true }),
}
