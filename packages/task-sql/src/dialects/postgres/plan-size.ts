import type { Plans } from '../../core/dialect.ts'
import { sql } from '../../core/statement.ts'
import type { PostgresTables } from './tables.ts'

/** For how many statements the size that a poll has seen is trusted. */
const knownFor = 100

/**
 * The size class of the task table, as polls see it. A plan that was made for an empty table reads the whole table. PostgreSQL keeps such
 * a plan until the table is analysed, which may be a million tasks later.
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
    // In a partitioned table a kept plan does not know the topic, and would read and lock the partitions of all topics.
    sizeClass: () => (tables.partitioned || left-- <= 0 ? undefined : scale),
  }
}

/**
 * The number of the size class. From 128 kB on each class is twice the one before, because plans may still read the whole table. From
 * 1 MB on no plan does, and each class is four times the one before.
 */
function stepOf(bytes: number): number {
  const doubled = Math.log2((bytes + 1) / 131_072)
  return Math.max(0, 1 + Math.floor(doubled < 3 ? doubled : 3 + (doubled - 3) / 2))
}
