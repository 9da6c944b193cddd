/** Which task another one waits for: another of its identifier, or one that it needs. */
import type { Blocker, DiagnosisCode, TaskInfo } from '@taskstream/task-api'
import { stages, states } from '../core/states.ts'
import type { BlockingClass } from '../core/states.ts'
import { nothing, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { obstaclesOf } from './claim-singular.ts'
import { infoOf } from './reference.ts'
import { over } from './settle.ts'
import { lookAt } from './why-found.ts'
import { holderOf } from './why-held.ts'
import type { Place } from './why-found.ts'

/** How many links are followed, so that an answer names the root of what is usual. */
export const mostLinks = 5
/** What has failed with what it needs begins again from the root on, so that each link must be known. */
const mostUnreachable = 50

/** A task that may be made ready and was not, for so long, is overdue. */
const patienceMs = 2_000

/** Where a task is by its own row. A ready one is `next`, as far as its row tells. */
export function codeOfRow({ state, due, blocked, tries }: TaskInfo, nowMs: number): DiagnosisCode {
  if (state === 'active') return 'running'
  if (state === 'ready') return 'next'
  if (state !== 'suspended') return state
  if (blocked) return 'awaits'
  if (!due) return 'suspended'
  if (due.getTime() < nowMs - patienceMs) return 'overdue'
  return tries > 0 ? 'retrying' : 'delayed'
}

/** What a task waits for, and what that waits for in turn: the root is last. */
export function* waitsFor(context: Context, place: Place, task: TaskInfo): Verb<readonly Blocker[]> {
  const links: Blocker[] = []
  let [at, current] = [place, task]
  const most = isUnreachable(task) ? mostUnreachable : mostLinks
  while (links.length < most) {
    const isOfNeeds = current.blocked || isUnreachable(current)
    const next = isOfNeeds ? yield* needed(context, current) : yield* obstacle(context, at, current)
    if (!next) break
    const { need, topic, sequence } = next
    const info = yield* infoOf(context, topic, sequence)
    links.push(
      info ? yield* toBlocker(context, info, place.nowMs, need) : { topic, sequence, code: 'unknown', ...(need && { need }) },
    )
    if (!info) break
    if (topic !== at.topic) at = yield* lookAt(context, topic)
    current = info
  }
  return links.map((link, index) => (link.code === 'next' && index < links.length - 1 ? { ...link, code: 'out-of-turn' } : link))
}

interface Waited {
  readonly topic: string
  readonly sequence: number
  readonly need?: string
}

/** Whether a task has failed because one that it needs has not succeeded. */
export function isUnreachable({ state, reason }: TaskInfo): boolean {
  return state === 'failed' && reason === 'unreachable'
}

/** The first task that this one needs, and that has not succeeded. Of one that has failed it is one whose success it needs. */
function* needed({ dialect }: Context, { topic, sequence, blocked }: TaskInfo): Verb<Waited | undefined> {
  const { dependency, task } = dialect.tables
  // One whose success does not matter is waited for until it has ended, or is gone.
  const isOpen = sql` or coalesce(k.state, ${states.redundant}) not in ${over}`
  const isOver = sql`case when coalesce(k.state, ${states.redundant}) in ${over} then 0 else 1 end, `
  const which = sql`(d.tolerant = 0${blocked ? isOpen : nothing})`
  const [row] = yield sql`
    select d.need, d.parent_topic, d.parent
      from ${dependency} d
      left join ${task} k on k.topic = d.parent_topic and k.sequence = d.parent
     where d.topic = ${topic} and d.sequence = ${sequence} and (k.state is null or k.state <> ${states.succeeded}) and ${which}
     order by ${blocked ? nothing : isOver}d.place
     ${dialect.expr.limit(raw('1'))}`
  return row && { topic: String(row['parent_topic']), sequence: toNumber(row['parent']), need: String(row['need']) }
}

/** The task of the same identifier that keeps a ready one from its turn. What somebody has to mend comes before what mends itself. */
function* obstacle({ dialect }: Context, { topic, mode }: Place, task: TaskInfo): Verb<Waited | undefined> {
  if (mode.condition === 'none' || task.state !== 'ready') return undefined
  const before = mode.order === 'lifo' ? sql`t.sequence > ${task.sequence}` : sql`t.sequence < ${task.sequence}`
  const inOrder = raw(mode.order === 'lifo' ? 'desc' : '')
  const first = (stage: BlockingClass, which: Statement): Statement => sql`
    select t.sequence
      from ${dialect.paths.identified('t')}
     where t.topic = ${topic} and t.identifier = ${task.identifier} and t.stage = ${stages[stage]} and ${which}
     order by t.sequence ${inOrder}
     ${dialect.expr.limit(raw('1'))}`
  const classes: readonly BlockingClass[] = ['failed', 'suspended', 'active', 'open']
  const obstacles = new Set<BlockingClass>([...obstaclesOf(mode.condition), 'active'])
  for (const stage of classes.filter((each) => obstacles.has(each))) {
    // A task at work is an obstacle wherever it stands.
    const [row] = yield first(stage, stage === 'active' ? sql`t.sequence <> ${task.sequence}` : before)
    if (row) return { topic, sequence: toNumber(row['sequence']) }
  }
  return undefined
}

/** When the task of the same identifier ended for which this one may have waited; 0 if there is none. */
export function* freedMs({ dialect }: Context, { topic, mode }: Place, { identifier, sequence }: TaskInfo): Verb<number> {
  if (mode.condition === 'none') return 0
  let latest = 0
  for (const stage of ['ended', 'failed', 'suspended'] as const) {
    const [row] = yield sql`
      select ${dialect.expr.epochMs(raw('t.completed'))} as completed
        from ${dialect.paths.identified('t')}
       where t.topic = ${topic} and t.identifier = ${identifier} and t.stage = ${stages[stage]} and t.sequence ${raw(mode.order === 'lifo' ? '>' : '<')} ${sequence}
       order by t.sequence ${raw(mode.order === 'lifo' ? '' : 'desc')}
       ${dialect.expr.limit(raw('1'))}`
    latest = Math.max(latest, toNumber(row?.['completed'] ?? 0))
  }
  return latest
}

export function* toBlocker(context: Context, task: TaskInfo, nowMs: number, need: string | undefined): Verb<Blocker> {
  const { topic, sequence, identifier, state, completed, started, created } = task
  const code = state === 'active' ? (yield* holderOf(context, task, nowMs)).code : codeOfRow(task, nowMs)
  const last = yield* lastAttempt(context, task)
  return {
    topic,
    sequence,
    identifier,
    state: code === 'awaits' ? 'blocked' : state === 'suspended' && task.due ? 'delayed' : state,
    code,
    ...(need !== undefined && { need }),
    since: (state === 'active' ? started : completed) ?? created,
    ...(last?.error !== undefined && state !== 'succeeded' && { error: last.error }),
  }
}

export interface LastAttempt {
  readonly attempt: number
  readonly ended: Date
  readonly error?: string
  readonly release?: string
  readonly trace?: string
}

/** The last attempt at a task that did not succeed. */
export function* lastAttempt({ dialect }: Context, { topic, sequence }: TaskInfo): Verb<LastAttempt | undefined> {
  const [row] = yield sql`
    select t.attempt, ${dialect.expr.epochMs(raw('t.ended'))} as ended, t.error, t.release_name, t.trace
      from ${dialect.tables.attempt} t
     where t.topic = ${topic} and t.sequence = ${sequence}
     order by t.attempt desc
     ${dialect.expr.limit(raw('1'))}`
  if (!row) return undefined
  return {
    attempt: toNumber(row['attempt']),
    ended: new Date(toNumber(row['ended'])),
    ...(row['error'] !== null && { error: String(row['error']) }),
    ...(row['release_name'] !== null && { release: String(row['release_name']) }),
    ...(row['trace'] !== null && { trace: String(row['trace']) }),
  }
}
