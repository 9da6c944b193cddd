/** Which tasks owners hold. */
import { checkInteger, checkNames, checkText, checkTopic, taskLimits, verbOptions } from '@taskstream/task-api'
import type { HeldInfo, HeldOptions } from '@taskstream/task-api'
import { sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { holding, present, toInstant, toNumber } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { isIn } from './filter-state.ts'

/** What is read of the tasks that are held, of which a topic's and the longest held are chosen. */
const mostRead = 10_000

export function* held({ dialect }: Context, options: HeldOptions = {}): Verb<readonly HeldInfo[]> {
  checkNames(verbOptions.held, options)
  const { topic, owner, limit = 100 } = options
  if (topic !== undefined) checkTopic(topic)
  if (owner !== undefined) checkText('owner', owner, taskLimits.ownerLength)
  checkInteger('limit', limit, 1, mostRead)
  const ofOwner = (holder: Statement): Statement => (owner === undefined ? sql`1 = 1` : sql`${holder} = ${owner}`)
  const rows = [
    ...(yield dialect.claims.claimedBy(ofOwner, mostRead, 'read')),
    ...(dialect.ranges ? yield dialect.ranges.heldBy(ofOwner, mostRead) : []),
  ]
  const columns = holding(dialect)
  const found: HeldInfo[] = []
  for (const [name, own] of Map.groupBy(rows, (row) => String(row['topic']))) {
    if (topic !== undefined && name !== topic) continue
    const sequences = own.map(({ sequence }) => toNumber(sequence))
    const infos = yield sql`
      select t.sequence, t.identifier, ${columns.owner} as owner, ${columns.attempt} as attempt, ${columns.tries} as tries,
             ${dialect.expr.epochMs(columns.started)} as started
        from ${dialect.paths.byKeys(name, sequences)} and ${isIn(dialect, 'active')}`
    found.push(
      ...infos.map((row) => ({
        topic: name,
        sequence: toNumber(row['sequence']),
        identifier: String(row['identifier']),
        owner: String(row['owner']),
        attempt: toNumber(row['attempt']),
        tries: toNumber(row['tries']),
        ...present('started', row['started'], toInstant),
      })),
    )
  }
  const startedMs = ({ started }: HeldInfo): number => started?.getTime() ?? 0
  return found.toSorted((left, right) => startedMs(left) - startedMs(right) || left.sequence - right.sequence).slice(0, limit)
}
