/** Processes, and what they hold. */
import type { HeldInfo, NodeInfo, NodeTopic, NodeTrouble } from '@taskstream/task-api'
import { sees } from '../core/access.ts'
import { checkSeen, ofSeen } from '../core/context.ts'
import { maskMessage } from '../core/mask.ts'
import { Problem } from '../core/problem.ts'
import type { Asked } from './route.ts'
import type { Bounded } from './tasks.ts'

export interface NodeAnswer extends Omit<NodeInfo, 'report'> {
  readonly topics: readonly NodeTopic[]
  readonly kind?: string
  readonly host?: string
  readonly pid?: number
  readonly leaseMs?: number
  readonly blockedMs?: number
  readonly error?: NodeTrouble
  readonly omitted?: number
}

export async function readNodes(
  asked: Asked,
  { topic }: { readonly topic?: string | undefined } = {},
): Promise<{ readonly nodes: readonly NodeAnswer[] }> {
  if (topic !== undefined) checkSeen(asked, topic)
  const { nodes } = await asked.overview()
  const mine = nodes.map((node) => toNode(asked, node)).filter((node) => concerns(asked, node, topic))
  return { nodes: mine.slice(0, 1_000) }
}

export async function readNode(asked: Asked, given: { readonly owner: string }): Promise<NodeAnswer> {
  const { nodes } = await readNodes(asked)
  const owner = given.owner
  const node = nodes.find((each) => each.owner === owner)
  if (!node)
    throw new Problem(
      'NODE_UNKNOWN',
      404,
      `There is no process ${JSON.stringify(owner.slice(0, 250))}.`,
      { owner: owner.slice(0, 250) },
      'taskstream nodes',
    )
  return node
}

export async function readHeld(
  asked: Asked,
  given: { readonly owner: string; readonly size: number },
): Promise<{
  readonly tasks: readonly HeldInfo[]
  readonly bounded: Bounded
}> {
  const owner = given.owner
  const held = await ofSeen<HeldInfo>(asked, undefined, (transaction, topic) =>
    asked.tasks.held(transaction, { owner, limit: given.size, ...(topic !== undefined && { topic }) }),
  )
  return {
    tasks: held.slice(0, given.size),
    bounded: { by: `${given.size} tasks`, reached: held.length >= given.size },
  }
}

function toNode({ access }: Asked, { report, ...node }: NodeInfo): NodeAnswer {
  const { topics = [], kind, host, pid, leaseMs, blockedMs, error, omitted } = report ?? {}
  const shown = (trouble: NodeTrouble): NodeTrouble => ({ ...trouble, message: maskMessage(trouble.message) })
  return {
    ...node,
    topics: topics
      .filter(({ topic }) => sees(access, topic))
      .map(({ error, newer, ...topic }) => ({
        ...topic,
        ...(error && { error: shown(error) }),
        ...(newer && { newer: shown(newer) }),
      })),
    ...(kind !== undefined && { kind }),
    ...(host !== undefined && { host }),
    ...(pid !== undefined && { pid }),
    ...(leaseMs !== undefined && { leaseMs }),
    ...(blockedMs !== undefined && { blockedMs }),
    ...(omitted !== undefined && { omitted }),
    ...(error && { error: shown(error) }),
  }
}

function concerns({ access }: Asked, { topics }: NodeAnswer, topic: string | undefined): boolean {
  if (topic !== undefined) return topics.some((each) => each.topic === topic)
  return access.topics === undefined || topics.length > 0
}
