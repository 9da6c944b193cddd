/** What has changed of late: releases, pauses, errors that are new, timers, and what people have done. One list, the latest first. */
import type { Activation, ErrorGroup, JsonValue, NodeInfo, RecordedAction, StoredTimer } from '@taskstream/task-api'
import type { LookOptions } from './attention.ts'

export const changeKinds = ['release', 'stopped', 'died', 'paused', 'resumed', 'error', 'timer', 'action'] as const
export type ChangeKind = (typeof changeKinds)[number]

export interface Change {
  readonly at: Date
  readonly kind: ChangeKind
  readonly topic?: string
  readonly text: string
}

/**
 * What has changed in the last so many milliseconds.
 *
 * @example
 * for (const { at, text } of await changes({ tasks, transactions, withinMs: 7_200_000 })) console.log(at, text)
 */
export async function changes<Transaction>({
  tasks,
  transactions,
  withinMs,
}: LookOptions<Transaction> & { readonly withinMs: number }): Promise<readonly Change[]> {
  const found = await transactions(async (transaction): Promise<readonly Change[]> => {
    const nodes = (await tasks.nodes(transaction, { withinMs })) as readonly NodeInfo[]
    const activations = (await tasks.activations(transaction)) as ReadonlyMap<string, Activation>
    const errors = (await tasks.errors(transaction, { withinMs })) as readonly ErrorGroup[]
    const timers = (await tasks.timers.list(transaction, {})) as readonly StoredTimer[]
    const actions = (await tasks.actions(transaction, { withinMs, limit: 1_000 })) as readonly RecordedAction[]
    return [...ofNodes(nodes), ...ofActivations(activations), ...ofErrors(errors), ...ofTimers(timers), ...ofActions(actions)]
  })
  const latest = Math.max(Date.now(), ...found.map(({ at }) => at.getTime()))
  return found
    .filter(({ at }) => at.getTime() >= latest - withinMs)
    .toSorted((left, right) => right.at.getTime() - left.at.getTime())
}

function* ofNodes(nodes: readonly NodeInfo[]): Generator<Change> {
  for (const { name, release, started, reported, heartbeat, life, report } of nodes) {
    const of = `${report?.kind === 'scheduler' ? `the scheduler of ${name}` : name}${release === undefined ? '' : `, release ${release}`}`
    if (started) yield { at: started, kind: 'release', text: `${of}, has started` }
    if (life === 'stopped' && reported) yield { at: reported, kind: 'stopped', text: `${of}, has stopped` }
    const heard = heartbeat ?? reported
    if (life === 'dead' && heard)
      yield { at: heard, kind: 'died', text: `${of}, was last heard of, and has not said that it stops` }
  }
}

function* ofActivations(activations: ReadonlyMap<string, Activation>): Generator<Change> {
  for (const [topic, { active, changed, actor, note }] of activations) {
    const who = actor === undefined ? '' : ` by ${actor}`
    const text = `${topic} was ${active ? 'resumed' : 'paused'}${who}${note === undefined ? '' : `: ${note}`}`
    yield { at: changed, kind: active ? 'resumed' : 'paused', topic, text }
  }
}

function* ofErrors(errors: readonly ErrorGroup[]): Generator<Change> {
  for (const { topic, error, first, firstRelease } of errors) {
    const release = firstRelease === undefined ? '' : ` in release ${firstRelease}`
    yield { at: first, kind: 'error', topic, text: `${topic}: ${error}, first seen${release}` }
  }
}

function* ofTimers(timers: readonly StoredTimer[]): Generator<Change> {
  for (const { scope, id, changed } of timers)
    yield { at: new Date(changed), kind: 'timer', text: `timer ${id} of ${scope} was added or changed` }
}

function* ofActions(actions: readonly RecordedAction[]): Generator<Change> {
  for (const { at, action, topic, actor, count, note, filter } of actions) {
    const who = actor === undefined ? '' : ` by ${actor}`
    const text = `${action}${topic === undefined ? timersOf(filter) : ` of ${topic}`}${who}${tasksOf(count)}${note === undefined ? '' : `; ${note}`}`
    yield { at, kind: 'action', ...(topic !== undefined && { topic }), text }
  }
}

/** The timers that an action was about, as its record names them. */
function timersOf(filter: JsonValue | undefined): string {
  const { scope, ids } = (filter ?? {}) as { readonly scope?: unknown; readonly ids?: unknown }
  return typeof scope === 'string' && Array.isArray(ids) ? ` ${ids.join(', ')} of ${scope}` : ''
}

/** A pause concerns no tasks. */
function tasksOf(count: number): string {
  if (count === 0) return ''
  return count === 1 ? ': 1 task' : `: ${count} tasks`
}
