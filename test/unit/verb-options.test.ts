/** Whatever the type of a verb's options has is known to that verb: none is refused by a table that has forgotten it. */
import { checkNames, creationNames, verbOptions } from '@taskstream/task-api'
import type {
  Action,
  ActionsOptions,
  ActivationOptions,
  CompleteOptions,
  CountOptions,
  ErrorsOptions,
  ExpireOptions,
  HeldOptions,
  LockOptions,
  NodesOptions,
  OverviewOptions,
  PageOptions,
  PollOptions,
  PromoteDueOptions,
  PurgeActionsOptions,
  PurgeAttemptsOptions,
  PurgeOptions,
  PushOptions,
  ReassignAllOptions,
  RecreateSelection,
  RedriveOptions,
  RegisterOptions,
  Rescheduling,
  ResolveOptions,
  RestoreOptions,
  ResultsOptions,
  TaskCreation,
  TaskFilter,
  TopicOptions,
  UpcomingOptions,
} from '@taskstream/task-api'
import { expect, test } from 'vitest'

const instant = new Date(0)
const filter: Required<Omit<TaskFilter, 'states'>> = {
  identifier: 'a',
  reference: 'r',
  reason: 'timeout',
  from: 1,
  to: 2,
  createdFrom: instant,
  createdBefore: instant,
  completedFrom: instant,
  completedBefore: instant,
  changedBefore: instant,
}
const creation: Required<TaskCreation> = {
  identifier: 'a',
  input: 'i',
  reference: 'r',
  externalId: 'e',
  suspended: true,
  due: instant,
  delayMs: 1,
  deadline: instant,
  deadlineMs: 1,
  priority: 1,
  maxTries: 1,
  headers: {},
}

interface Options {
  readonly initialize: TopicOptions
  readonly push: PushOptions
  readonly poll: PollOptions
  readonly complete: CompleteOptions
  readonly promoteDue: PromoteDueOptions
  readonly recreate: RecreateSelection
  readonly lock: LockOptions
  readonly restore: RestoreOptions
  readonly purgeActions: PurgeActionsOptions
  readonly redrive: RedriveOptions
  readonly reassignAll: ReassignAllOptions
  readonly reschedule: Rescheduling
  readonly page: PageOptions
  readonly overview: OverviewOptions
  readonly count: CountOptions
  readonly results: ResultsOptions
  readonly resolve: ResolveOptions
  readonly purge: PurgeOptions
  readonly purgeAttempts: PurgeAttemptsOptions
  readonly register: RegisterOptions
  readonly expire: ExpireOptions
  readonly activate: ActivationOptions
  readonly deactivate: ActivationOptions
  readonly errors: ErrorsOptions
  readonly held: HeldOptions
  readonly upcoming: UpcomingOptions
  readonly nodes: NodesOptions
  readonly actions: ActionsOptions
  readonly record: Action
}

/** The compiler sees to it that none is missing here. */
const all: { readonly [Verb in keyof Options]: Required<Options[Verb]> } = {
  initialize: { order: 'fifo', condition: 'none', keyed: true, record: 'states' },
  push: { insertion: 'append' },
  poll: { size: 1, order: 'fifo', condition: 'none', hold: 'lease', shares: { high: 1, low: 1 } },
  complete: { strict: true, discard: [], traces: new Map() },
  promoteDue: { limit: 1 },
  recreate: { ...filter, state: 'failed', size: 1 },
  redrive: { ...filter, states: [], fingerprint: 'f', dryRun: true, limit: 1 },
  lock: {
    ...filter,
    states: [],
    tasks: 1,
    fingerprint: 'f',
    newest: true,
    unneeded: true,
    skipLocked: true,
    dryRun: true,
    limit: 1,
  },
  restore: { tasks: [], left: { states: [] }, made: instant },
  reassignAll: { from: 'failed', to: 'success', first: 1, last: 2 },
  reschedule: { due: instant, delayMs: 1, deadline: instant, deadlineMs: 1, priority: 1 },
  page: { ...filter, states: [], after: 1, before: 2, size: 1 },
  overview: { limit: 1 },
  count: { ...filter, states: [], topic: 't', recent: true, unneeded: true },
  results: { from: instant, to: instant },
  resolve: { preceding: true, topic: 'mail' },
  purge: { ...filter, states: [], olderThanMs: 1, sequences: [1], limit: 1 },
  purgeAttempts: { olderThanMs: 1, limit: 1 },
  register: { exclusive: true },
  expire: { olderThanMs: 1, then: 'ready', limit: 1 },
  activate: { actor: 'a', note: 'n' },
  deactivate: { actor: 'a', note: 'n' },
  errors: { topic: 't', withinMs: 1, limit: 1 },
  held: { topic: 't', owner: 'o', limit: 1 },
  upcoming: { limit: 1 },
  nodes: { topic: 't', withinMs: 1 },
  actions: { portions: true, id: 'i', topic: 't', withinMs: 1, details: true, limit: 1 },
  purgeActions: { olderThanMs: 1, limit: 1 },
  record: {
    action: 'a',
    topic: 't',
    actor: 'a',
    via: 'v',
    note: 'n',
    count: 1,
    filter: null,
    portion: { of: 'a', number: 1 },
    sequences: [],
    former: null,
    undoes: 'u',
    replaces: true,
  },
}

test.each(Object.keys(all) as (keyof Options)[])('every option of %s is known, and none that is not', (verb) => {
  checkNames(verbOptions[verb], all[verb])
  expect([...verbOptions[verb].known].toSorted()).toEqual(Object.keys(all[verb]).toSorted())
})

test('every field of a creation is known, and none that is not', () => {
  checkNames(creationNames, creation)
  expect([...creationNames.known].toSorted()).toEqual(Object.keys(creation).toSorted())
})
