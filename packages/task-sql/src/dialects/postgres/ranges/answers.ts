/** What the poll's function answers (take-function.ts). A long answer is only numbers, and its tasks are fetched afterwards. */
import { raw, sql } from '../../../core/statement.ts'
import type { Statement } from '../../../core/statement.ts'
import type { PostgresTables } from '../tables.ts'

/** What a row of the answer is, by its state. */
export const answers = {
  /** The task was taken as a row. */
  row: 0,
  /** The task is in a range that was taken. */
  ranged: 1,
  /** The number is the first of a range that was taken, whose tasks are to be fetched. */
  fetch: 8,
  /** The number is of a task that was taken as a row, and is to be fetched. */
  fetchRow: 9,
} as const

/** Less than the smallest buffer of a socket. */
export const shortBytes = 32_768

/** About how many bytes the server sends for a row. */
export function bytesOf(alias: string): Statement {
  const column = (name: string): string => `${alias}.${name}`
  return raw(
    `pg_catalog.octet_length(${column('identifier')}) + coalesce(pg_catalog.octet_length(${column('input')}), 0) + coalesce(pg_catalog.pg_column_size(${column('headers')}), 0) + 60`,
  )
}

/**
 * True if the answer is short. A server's process that sends more than its client reads stands still with its transaction open, and with it the lock: a client
 * that has stopped, or computes, would keep all others from taking anything. A longer answer is fetched by the client afterwards, without the lock.
 */
export function isShort(rows: string): Statement {
  return sql`coalesce((select sum(${bytesOf('s')}) from ${raw(rows)} s), 0) <= ${raw(String(shortBytes))}`
}

/** The row of an answer that says which range is to be fetched. */
export function toFetch(tables: PostgresTables, from: Statement): Statement {
  return sql`
          select (pg_catalog.jsonb_populate_record(null::${tables.task}, pg_catalog.jsonb_build_object('topic', v_topic, 'identifier', '', 'sequence', k.lo, 'state', ${raw(String(answers.fetch))}))).*
            from ${from}`
}
