/** Why a task is not running, and what became of it. Each answer takes a few statements, each of which reads by a key or a bounded part of an index. */
import type { Diagnosis, DiagnosisCode, Remedy, TaskInfo, TaskReference } from '@taskstream/task-api'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { find } from './reference.ts'
import { lookAt } from './why-found.ts'
import type { Place } from './why-found.ts'
import { holderOf, releaseOf } from './why-held.ts'
import { whyReady, whyTopic } from './why-ready.ts'
import type { Found } from './why-ready.ts'
import { wentOnAs, withRoot } from './why-root.ts'
import { codeOfRow, isUnreachable, lastAttempt, waitsFor } from './why-waits.ts'
import type { LastAttempt } from './why-waits.ts'

export function* why(context: Context, topic: string, reference: TaskReference): Verb<Diagnosis> {
  const place = yield* lookAt(context, topic)
  const at = new Date(place.nowMs)
  const task = yield* find(context, place, reference)
  if (!task) return { at, code: 'unknown', also: [], by: [], remedies: [] }
  const found = yield* reasonsOf(context, place, task)
  const last = yield* lastAttempt(context, task)
  const [code] = found[0]!
  const facts = Object.assign({}, ...found.map(([, each]) => each).toReversed()) as Partial<Diagnosis>
  const diagnosis: Diagnosis = {
    at,
    code,
    also: found.slice(1).map(([each]) => each),
    task,
    since: sinceOf(task),
    by: [],
    ...(last && { last }),
    ...(yield* putOffBy(context, task, last)),
    ...facts,
    remedies: [],
  }
  return { ...diagnosis, remedies: remediesOf(diagnosis, task) }
}

function* reasonsOf(context: Context, place: Place, task: TaskInfo): Verb<readonly Found[]> {
  if (task.state === 'active') return yield* whyHeld(context, place, task)
  if (task.state === 'ready') return yield* whyReady(context, place, task)
  const code = codeOfRow(task, place.nowMs)
  if (code === 'awaits' || isUnreachable(task))
    return [[code, { by: yield* withRoot(context, yield* waitsFor(context, place, task)) }]]
  if (code === 'succeeded') return [[code, yield* wentOnAs(context, task, place.nowMs)]]
  if (code === 'delayed' || code === 'retrying') {
    const { found } = yield* whyTopic(context, place)
    // That nodes are full now says nothing of the time when it is due.
    return [[code, { until: task.due! }], ...found.filter(([each]) => each !== 'no-slot')]
  }
  // Nodes make due tasks ready, and take tasks from dead owners.
  if (code === 'overdue') return [[code, { since: task.due! }], ...(yield* whyTopic(context, place)).found]
  return [[code, {}]]
}

function* whyHeld(context: Context, place: Place, task: TaskInfo): Verb<readonly Found[]> {
  const { code, facts } = yield* holderOf(context, task, place.nowMs)
  if (code !== 'owner-dead') return [[code, facts]]
  return [[code, facts], ...(yield* whyTopic(context, place)).found]
}

/** What a snooze says of a task that waits for its time: one that leaves an attempt in the history is no snooze. */
function* putOffBy(context: Context, task: TaskInfo, last: LastAttempt | undefined): Verb<Partial<Diagnosis>> {
  const { state, due, attempt, tries, output, owner } = task
  if (state !== 'suspended' || !due || output === undefined || attempt === tries || last?.attempt === attempt) return {}
  const release = owner === undefined ? undefined : yield* releaseOf(context, owner)
  const by = { ...(owner !== undefined && { owner }), ...(release !== undefined && { release }) }
  return { putOff: { times: attempt - tries, explanation: output, ...by } }
}

/** Since when the task is where it is. */
function sinceOf({ state, started, completed, created }: TaskInfo): Date {
  return (state === 'active' ? started : completed) ?? created
}

const hopeless: ReadonlySet<DiagnosisCode> = new Set<DiagnosisCode>(['unknown', 'redundant', 'recreated'])
const revivable: ReadonlySet<DiagnosisCode> = new Set<DiagnosisCode>(['failed', 'expired', 'suspended', 'filtered'])

function remediesOf(diagnosis: Diagnosis, task: TaskInfo): readonly Remedy[] {
  const { topic, sequence } = task
  const root = diagnosis.by.at(-1)
  if (!root || !isUnreachable(task)) return remediesOfOne(diagnosis, task)
  // Without what is gone, or what another took the place of, it fails again whenever it is made ready.
  if (hopeless.has(root.code)) return []
  const [first] = remediesOfOne({ ...diagnosis, code: 'awaits' }, task)
  // What has failed with the root is blocked again once it begins, in this order.
  const links = diagnosis.by.slice(0, -1).toReversed()
  const again = [...links, { topic, sequence }].map((link): Remedy => ({
    verb: 'redrive',
    topic: link.topic,
    sequence: link.sequence,
    state: 'failed',
  }))
  return [...(first ? [first] : []), ...again]
}

function remediesOfOne({ code, also, by, owner, putOff }: Diagnosis, { topic, sequence }: TaskInfo): readonly Remedy[] {
  const root = by.at(-1)
  const of = root ?? { topic, sequence, code }
  const whose = { topic: of.topic, sequence: of.sequence }
  const ofTopic = remedyOfTopic(code, topic, owner?.owner) ?? (root && remedyOfTopic(root.code, root.topic))
  if (ofTopic) return [ofTopic]
  // Nodes make due tasks ready. If they live and report no error, something else keeps them, such as a lock.
  if (code === 'overdue') {
    const [helps] = also.flatMap((each) => remedyOfTopic(each, topic) ?? [])
    if (helps) return [helps]
    // A node that reports an error says what helps.
    return also.length === 0 ? [{ verb: 'examine', topic }] : []
  }
  if (revivable.has(of.code)) {
    const redrive: Remedy = { verb: 'redrive', ...whose, state: of.code as 'failed' }
    if (!root || code === 'awaits') return [redrive]
    // What has failed has ended, and only what has not ended is cancelled.
    return [redrive, of.code === 'failed' ? { verb: 'reassign', ...whose, state: 'failed' } : { verb: 'cancel', ...whose }]
  }
  // Who has put the task off would do so again at once. It comes by again by itself.
  if (putOff && !root) return []
  if (of.code === 'delayed' || of.code === 'retrying') return [{ verb: 'reschedule', ...whose }]
  return []
}

/** What helps a topic that keeps all of its tasks waiting. */
function remedyOfTopic(code: DiagnosisCode, topic: string, owner?: string): Remedy | undefined {
  if (code === 'paused') return { verb: 'activate', topic }
  if (code === 'node-quiet') return { verb: 'quiet', topic }
  if (code === 'limited') return { verb: 'limit', topic }
  if (code === 'no-node' || code === 'node-silent' || code === 'owner-dead')
    return { verb: 'start-node', topic, ...(owner !== undefined && { owner }) }
  return undefined
}
