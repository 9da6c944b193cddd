/** Statements that several layouts share, and the one way to send them: prepared, by name. */
import type { ClientBase, QueryResult } from 'pg'
import type { Claim, Completion } from './layout.ts'
import { bySequence, sequencesOf } from './layout.ts'

export interface Statement {
  readonly name: string
  readonly text: string
}

export function run<Row extends object>(client: ClientBase, statement: Statement, values: unknown[]): Promise<QueryResult<Row>> {
  return client.query<Row>({ name: statement.name, text: statement.text, values })
}

export function pushStatement(name: string, columns: { readonly xidFirst: boolean; readonly listed?: boolean }): Statement {
  const listed = columns.listed ?? false
  return columns.xidFirst
    ? {
        name: `${name} push`,
        // The cross join cannot produce a row, and so draw a sequence, before the transaction has its id.
        text: `
          with started as materialized (select pg_current_xact_id())
          insert into task (topic, identifier, input${listed ? ', listed' : ''})
          select $1, u.identifier, u.input${listed ? ', true' : ''}
            from started, unnest($2::text[], $3::text[]) as u (identifier, input)
          returning sequence`,
      }
    : {
        name: `${name} push`,
        text: `
          insert into task (topic, identifier, input${listed ? ', listed' : ''})
          select $1, u.identifier, u.input${listed ? ', true' : ''}
            from unnest($2::text[], $3::text[]) as u (identifier, input)
          returning sequence`,
      }
}

export interface CompleteOptions {
  /** Clear `listed`, so that the small index forgets the row. */
  readonly unlist: boolean
  readonly fenced?: boolean
}

/**
 * No join, so no plan can compare each task with each, which a table without statistics tempts the planner to. The arrays are
 * sorted, which makes `width_bucket` a binary search for a row's own place in them; and the rows are locked in their order.
 */
export function completeStatement(name: string, options: CompleteOptions): Statement {
  const place = 'width_bucket(t.sequence, $2::bigint[])'
  return {
    name: `${name} complete`,
    text: `
      update task as t
         set state = ($5::smallint[])[${place}], completed = statement_timestamp(),
             output = ($6::text[])[${place}]${options.unlist ? ', listed = false' : ''}
       where t.topic = $1 and t.sequence = any($2::bigint[]) and t.state + 0 = 0 and t.owner = $3
         ${options.fenced === false ? 'and $4::integer[] is not null' : `and t.attempt = ($4::integer[])[${place}]`}
      returning t.sequence`,
  }
}

export async function complete(
  client: ClientBase,
  statement: Statement,
  topic: string,
  owner: string,
  completions: readonly Completion[],
): Promise<number[]> {
  // Sorted, so that two completions which share rows lock them in the same order and cannot deadlock.
  const sorted = completions.toSorted(bySequence)
  return sequencesOf(
    await run<{ sequence: number }>(client, statement, [
      topic,
      sorted.map((each) => each.sequence),
      owner,
      sorted.map((each) => each.attempt),
      sorted.map((each) => each.state),
      // No array at all when nobody has an output: finding a place among texts is a walk.
      sorted.some((each) => each.output !== null) ? sorted.map((each) => each.output) : null,
    ]),
  )
}

/** What every sequence is below: a range with two ends is estimated as few rows, so the index is read in order, not sorted. */
export const endless = '9007199254740991::bigint'

/** Locks in sequence order for the same reason as `complete`. */
export function resetStatement(name: string, options: { readonly list: boolean }): Statement {
  return {
    name: `${name} reset`,
    text: `
      with chosen as materialized (
        select sequence from task
         where topic = $1 and sequence = any($2::bigint[]) and state in (0, 2, 3, 4)
         order by sequence for update)
      update task as t
         set state = 1, owner = null, started = null, completed = null${options.list ? ', listed = true' : ''}
       where t.topic = $1 and t.sequence = any(array(select sequence from chosen))
      returning t.sequence`,
  }
}

/** Claims are returned by UPDATE in no promised order. */
export function sorted(claims: Claim[]): Claim[] {
  return claims.sort(bySequence)
}
