import { checkTopic, TaskError } from '@taskstream/task-api'
import { detachLock, leafOf } from './partitions.ts'
import { tablesOf } from './tables.ts'

export interface DetachPartitionOptions {
  /** The schema given to `postgres()`. Default `taskstream`. */
  readonly schema?: string
}

interface Client {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>
}

/**
 * Detaches the partition of a destroyed topic and drops it. Otherwise the empty partition stays, for the case that the topic is
 * initialised again.
 *
 * The call needs a connection of its own that goes straight to the server, outside any transaction. It waits for the running
 * transactions of all topics, and does not block them. If a call was interrupted, call it again to finish the work.
 *
 * @returns whether there was a partition
 * @throws TaskError TOPIC_IN_USE if the topic is initialised: destroy it first
 * @example
 * await pool.connect().then(async (client) => { await detachPartition(client, 'old'); client.release() })
 */
export async function detachPartition(client: Client, topic: string, options: DetachPartitionOptions = {}): Promise<boolean> {
  checkTopic(topic)
  const { schema } = tablesOf(options.schema ?? 'taskstream')
  const lock = detachLock(schema, '$1')
  await client.query(`select pg_catalog.pg_advisory_lock(${lock})`, [topic])
  try {
    const { rows } = await client.query(
      `select n.leaf,
              exists (select from ${schema}.task_topic p where p.topic = $1) as known,
              pg_catalog.to_regclass('${schema}.' || n.leaf) is not null as there,
              i.inhdetachpending as pending
         from (select ${leafOf('$1')} as leaf) n
         left join pg_catalog.pg_inherits i
           on i.inhparent = '${schema}.task'::regclass and i.inhrelid = pg_catalog.to_regclass('${schema}.' || n.leaf)`,
      [topic],
    )
    const { leaf, known, there, pending } = rows[0] ?? {}
    if (known)
      throw new TaskError('TOPIC_IN_USE', `Topic "${topic}" is initialised: destroy it before its partition is detached`, {
        topic,
      })
    if (!there) return false
    // The name is a hash, so it has only letters and digits.
    const table = `${schema}."${String(leaf)}"`
    if (pending !== null)
      await client.query(`alter table ${schema}.task detach partition ${table} ${pending ? 'finalize' : 'concurrently'}`)
    await client.query(`drop table ${table}`)
    return true
  } finally {
    // If the connection is gone, the server has released the lock.
    await client.query(`select pg_catalog.pg_advisory_unlock(${lock})`, [topic]).catch(() => {})
  }
}
