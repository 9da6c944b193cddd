import type { Plans } from '../../core/dialect.ts'
import { sql } from '../../core/statement.ts'
import type { PostgresTables } from './tables.ts'

/** What a poll has seen is taken to be so for as many statements. */
const knownFor = 100

/**
 * How large the task table is, as polls see it. A plan that was made for an empty table reads all of it, and PostgreSQL keeps such a plan
 * until the table is analysed, which may be a million tasks later.
 */
export function planSize(tables: PostgresTables): Plans {
  let scale = ''
  let left = 0
  return {
    tableBytes: sql`pg_catalog.pg_relation_size(${tables.taskClass})`,
    learn: (bytes) => {
      scale = `scale ${stepOf(bytes)}`
      left = knownFor
    },
    // Without its topic a plan reads, and locks, every topic's partition.
    sizeClass: () => (tables.partitioned || left-- <= 0 ? undefined : scale),
  }
}

/**
 * A table that has grown by less is read in the same way. From 128 kB on by two, as there a plan may read all of it; from 1 MB on, where
 * none does, by four.
 */
function stepOf(bytes: number): number {
  const doubled = Math.log2((bytes + 1) / 131_072)
  return Math.max(0, 1 + Math.floor(doubled < 3 ? doubled : 3 + (doubled - 3) / 2))
}
