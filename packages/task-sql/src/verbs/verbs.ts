/** The verbs of a repository, as the contracts name them. */
import type { Execution, TaskRepository } from '@taskstream/task-api'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { activate, activations, deactivate } from './activation.ts'
import { admit } from './admit.ts'
import { attempts, purgeAttempts } from './attempts.ts'
import { actions, purgeActions, record } from './audit.ts'
import { cancel } from './cancel.ts'
import { complete } from './complete.ts'
import { depend, dependencies } from './dependencies.ts'
import { count } from './count.ts'
import { endings } from './endings.ts'
import { errors } from './errors.ts'
import { expire } from './expire.ts'
import { handBack } from './hand-back.ts'
import { held } from './holdings.ts'
import { hold } from './hold.ts'
import { limit, limits } from './limits.ts'
import { lock } from './lock.ts'
import { lost } from './lost.ts'
import { junction } from './junction.ts'
import { nodes, quiet, report } from './nodes.ts'
import { overview } from './overview.ts'
import { heartbeat, owners, purgeOwners, register, unregister } from './owners.ts'
import { page, task } from './page.ts'
import { peek } from './peek.ts'
import { poll } from './poll.ts'
import { purge, purgeAll } from './purge.ts'
import { push } from './push.ts'
import { giveTokens, takeTokens } from './rate.ts'
import { reassign, reassignAll } from './reassign.ts'
import { reschedule } from './reschedule.ts'
import { restore } from './restore.ts'
import { reclaim } from './reclaim.ts'
import { recreate, redrive } from './recreate.ts'
import { promoteDue } from './promote-due.ts'
import { repair } from './repair.ts'
import { resolve, results } from './results.ts'
import { settle } from './settle.ts'
import { freeSlots, holdSlots, takeSlots } from './slots.ts'
import { upcoming } from './upcoming.ts'
import { why } from './why.ts'
import { destroy, initialize, limitStatements, refresh, topics } from './topics.ts'

type Contract = TaskRepository<never, Extract<Execution, 'sync'>>

export type VerbName = Exclude<keyof Contract, 'execution' | 'owner' | 'found'>

/** What a verb of this name takes after the transaction, and returns. */
type Taken<Name extends VerbName> = Contract[Name] extends (transaction: never, ...given: infer Given) => unknown ? Given : never
type Returned<Name extends VerbName> = ReturnType<Contract[Name]>

type Verbs = { readonly [Name in VerbName]: (context: Context, ...given: Taken<Name>) => Verb<Returned<Name>> }

/** A verb of the table, whatever it takes. */
export type AnyVerb = (context: Context, ...given: readonly never[]) => Verb<unknown>

/** The verbs for other verbs: `yield* verbs.push('invoices', 'inv-1')`. */
export type BoundVerbs = { readonly [Name in VerbName]: (...given: Taken<Name>) => Verb<Returned<Name>> }

export const verbs: Verbs = {
  push,
  poll,
  hold,
  lost,
  complete,
  handBack,
  reclaim,
  promoteDue,
  peek,
  recreate,
  redrive,
  lock,
  restore,
  reassign,
  reassignAll,
  cancel,
  reschedule,
  junction,
  initialize,
  topics,
  destroy,
  refresh,
  limitStatements,
  repair,
  task,
  attempts,
  page,
  overview,
  count,
  endings,
  depend,
  dependencies,
  settle,
  results,
  resolve,
  purge,
  purgeAll,
  purgeAttempts,
  limit,
  limits,
  takeSlots,
  holdSlots,
  freeSlots,
  takeTokens,
  giveTokens,
  admit,
  activate,
  deactivate,
  activations,
  register,
  unregister,
  heartbeat,
  owners,
  purgeOwners,
  expire,
  report,
  nodes,
  quiet,
  record,
  actions,
  purgeActions,
  why,
  errors,
  held,
  upcoming,
}

/** The verbs that workers and producers call all the time. */
export const frequent: ReadonlySet<VerbName> = new Set<VerbName>([
  'push',
  'poll',
  'hold',
  'complete',
  'handBack',
  'promoteDue',
  'peek',
  'admit',
  'heartbeat',
])

export function bindVerbs(context: Context): BoundVerbs {
  const bound = Object.entries(verbs).map(([name, verb]) => [name, (...given: never[]) => (verb as AnyVerb)(context, ...given)])
  return Object.fromEntries(bound) as BoundVerbs
}
