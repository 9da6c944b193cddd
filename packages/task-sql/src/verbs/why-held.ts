/** Whether the owner that holds a task lives. */
import type { Diagnosis, TaskInfo } from '@taskstream/task-api'
import { raw, sql } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { lifeOf, usualLeaseMs } from './nodes.ts'

export interface Holder {
  readonly code: 'running' | 'owner-silent' | 'owner-dead'
  readonly facts: Pick<Diagnosis, 'owner' | 'until'>
}

export function* holderOf({ dialect }: Context, { owner = '' }: TaskInfo, nowMs: number): Verb<Holder> {
  const { expr, tables } = dialect
  const [beating] = yield sql`
    select ${expr.epochMs(raw('o.heartbeat'))} as heartbeat from ${tables.owner} o where o.owner = ${owner}`
  const [told] = yield sql`select n.lease_ms, n.release_name from ${tables.node} n where n.owner = ${owner}`
  const leaseMs = told ? toNumber(told['lease_ms']) : usualLeaseMs
  const release = told?.['release_name'] ?? null
  const known = { owner, ...(release !== null && { release: String(release) }) }
  if (!beating) return { code: 'owner-dead', facts: { owner: known } }
  const heartbeatMs = toNumber(beating['heartbeat'])
  const facts = { owner: { ...known, heartbeat: new Date(heartbeatMs) } }
  const life = lifeOf(nowMs - heartbeatMs, leaseMs)
  if (life === 'silent') return { code: 'owner-silent', facts: { ...facts, until: new Date(heartbeatMs + leaseMs) } }
  return { code: life === 'living' ? 'running' : 'owner-dead', facts }
}
