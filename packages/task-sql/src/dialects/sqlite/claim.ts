import type { Claims, Tables } from '../../core/dialect.ts'
import { anyPlan } from '../../core/define-dialect.ts'
import type { ClaimRequest } from '../../core/requests.ts'
import { states } from '../../core/states.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Row, Verb } from '../../core/verb.ts'
import { toNumber } from '../../core/task-row.ts'
import { claimStatus, mayClaim, plainMode } from '../../core/topic-mode.ts'
import { manyRows } from './held.ts'
import { sequenceIn } from './values.ts'

/** Takes the first ready rows by the index of open ones. Nobody else writes meanwhile, so many rows are read first and then written by their keys. */
export function claimPlain(tables: Tables): Claims['plain'] {
  return function* (request) {
    const { topic, owner, size } = request
    const rows = size < manyRows ? yield take(tables, request) : yield* readAndTake(tables, request)
    if (rows.length > 0) return { rows, mode: plainMode, ownerKnown: true }
    return { rows: [], ...(yield* claimStatus({ tables, plans: anyPlan }, topic, owner)) }
  }
}

function take(tables: Tables, request: ClaimRequest): Statement {
  return sql`
    update ${tables.task} as t
       set ${taken(request)}
     where t.sequence in (${first(tables, request, raw('sequence'))})
    returning ${request.columns}`
}

function* readAndTake(tables: Tables, request: ClaimRequest): Verb<readonly Row[]> {
  const found = yield first(tables, request, request.columns)
  if (found.length === 0) return found
  const keyed = sequenceIn(found.map(({ sequence }) => toNumber(sequence)))
  yield sql`
    update ${tables.task} as t
       set ${taken(request)}
     where ${keyed} and +t.topic = ${request.topic} and +t.state = ${states.ready}`
  return found.map((row) => ({ ...row, attempt: toNumber(row['attempt']) + 1, tries: toNumber(row['tries']) + 1 }))
}

function taken({ owner, now }: ClaimRequest): Statement {
  return sql`state = ${states.active},
           reason = null,
           owner = ${owner},
           attempt = attempt + 1,
           tries = tries + 1,
           started = coalesce(${now}, cast(round(unixepoch('subsec') * 1000) as integer))`
}

function first(tables: Tables, { topic, owner, size }: ClaimRequest, columns: Statement): Statement {
  return sql`
    select ${columns}
      from ${tables.task} indexed by task_open
     where topic = ${topic} and state = ${states.ready} and state <= ${states.ready} and ${mayClaim({ tables }, topic, owner, plainMode)}
     order by sequence
     limit ${size}`
}
