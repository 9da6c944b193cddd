/** Whether the owner that holds a task lives. */
import type { Diagnosis, TaskInfo } from '@taskstream/task-api'
import { raw, sql } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { lifeOf, toTopics, usualLeaseMs } from './nodes.ts'

export interface Holder {
  readonly code: 'running' | 'stuck' | 'owner-silent' | 'owner-dead'
  readonly facts: Partial<Pick<Diagnosis, 'owner' | 'since' | 'until'>>
}

export function* holderOf({ dialect }: Context, task: TaskInfo, nowMs: number): Verb<Holder> {
  const { expr, tables } = dialect
  const { owner = '' } = task
  const [beating] = yield sql`
    select ${expr.epochMs(raw('o.heartbeat'))} as heartbeat from ${tables.owner} o where o.owner = ${owner}`
  const [told] = yield sql`
    select n.lease_ms, n.release_name, n.topics, ${expr.epochMs(raw('n.seen'))} as seen from ${tables.node} n where n.owner = ${owner}`
  const leaseMs = told ? toNumber(told['lease_ms']) : usualLeaseMs
  const release = told?.['release_name'] ?? null
  const known = { owner, ...(release !== null && { release: String(release) }) }
  if (!beating) return { code: 'owner-dead', facts: { owner: known } }
  const heartbeatMs = toNumber(beating['heartbeat'])
  const facts = { owner: { ...known, heartbeat: new Date(heartbeatMs) } }
  const life = lifeOf(nowMs - heartbeatMs, leaseMs)
  if (life === 'silent') return { code: 'owner-silent', facts: { ...facts, until: new Date(heartbeatMs + leaseMs) } }
  if (life === 'dead') return { code: 'owner-dead', facts }
  const stuckMs = told && stuckFor(told, task)
  if (stuckMs === undefined) return { code: 'running', facts }
  return { code: 'stuck', facts: { ...facts, since: new Date(toNumber(told!['seen']) - stuckMs) } }
}

/** The release that a node has told. Undefined if it has told none. */
export function* releaseOf({ dialect }: Context, owner: string): Verb<string | undefined> {
  const [told] = yield sql`select n.release_name from ${dialect.tables.node} n where n.owner = ${owner}`
  const release = told?.['release_name'] ?? null
  return release === null ? undefined : String(release)
}

/** For how long the handler of this attempt had been asked to let go when its node told so. Undefined if it has told nothing of the kind. */
function stuckFor(told: Row, { topic, sequence, attempt }: TaskInfo): number | undefined {
  const own = toTopics(told['topics']).find((each) => each.topic === topic)
  if (!Array.isArray(own?.stuck)) return undefined
  const stuck = own.stuck.find((each) => each.sequence === sequence && each.attempt === attempt)
  return stuck && (Number(stuck.forMs) || 0)
}
