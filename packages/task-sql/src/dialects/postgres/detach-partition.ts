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
  const locks = [topic, ofAll]
  for (const one of locks) await client.query(`select pg_catalog.pg_advisory_lock(${lock})`, [one])
  try {
    await finishOthers(client, schema)
    const { rows } = await client.query(
      `select n.leaf,
              exists (select from ${schema}.task_topic p where p.topic = $1) as known,
              pg_catalog.to_regclass('${schema}.' || n.leaf) is not null as there,
              i.inhrelid is not null as attached
         from (select ${leafOf('$1')} as leaf) n
         left join pg_catalog.pg_inherits i
           on i.inhparent = '${schema}.task'::regclass and i.inhrelid = pg_catalog.to_regclass('${schema}.' || n.leaf)`,
      [topic],
    )
    const { leaf, known, there, attached } = rows[0] ?? {}
    if (known)
      throw new TaskError('TOPIC_IN_USE', `Topic "${topic}" is initialised: destroy it before its partition is detached`, {
        topic,
      })
    if (!there) return false
    // The name is a hash, so it has only letters and digits.
    const table = `${schema}."${String(leaf)}"`
    if (attached) await client.query(`alter table ${schema}.task detach partition ${table} concurrently`)
    await client.query(`drop table ${table}`)
    return true
  } finally {
    // If the connection is gone, the server has released the lock.
    for (const one of locks.toReversed())
      await client.query(`select pg_catalog.pg_advisory_unlock(${lock})`, [one]).catch(() => {})
  }
}

/** PostgreSQL detaches one partition of a table at a time, so calls for all topics take turns. No topic has this name. */
const ofAll = ''

/** Ends detachments that were interrupted: until then PostgreSQL refuses every other one. The table stays, and a call for its topic drops it. */
async function finishOthers(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query(
    `select c.relname as leaf
       from pg_catalog.pg_inherits i
       join pg_catalog.pg_class c on c.oid = i.inhrelid
      where i.inhparent = '${schema}.task'::regclass and i.inhdetachpending`,
  )
  for (const { leaf } of rows)
    await client.query(`alter table ${schema}.task detach partition ${schema}."${String(leaf)}" finalize`)
}
