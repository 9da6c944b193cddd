/** Whether a connection waits for a lock at this moment, as its server says. */
import { raw, sql } from '@taskstream/task-sql'
import type { Session, Subject } from '../subject.ts'

/** Asks on a connection of its own; begin each transaction before, as a pooler gives each another connection. */
export async function watch(
  { engine, execute }: Subject,
  { transaction }: Session,
  observer: Session,
): Promise<() => Promise<boolean>> {
  if (engine === 'postgres') {
    const [own] = await execute(transaction, sql`select pg_backend_pid() as pid`)
    const blockers = sql`select cardinality(pg_blocking_pids(${Number(own?.['pid'])}::int)) as count`
    return async () => Number((await execute(observer.transaction, blockers))[0]?.['count']) > 0
  }
  const [connection] = await execute(transaction, sql`select connection_id() as id`)
  // Told as it is now; what the tables of locks say may be older by a tenth of a second.
  const status = raw('show engine innodb status')
  const thread = ` thread id ${String(connection?.['id'])},`
  return async () => {
    const [row] = await execute(observer.transaction, status)
    const [, ...transactions] = String(row?.['Status']).split('---TRANSACTION ')
    const own = transactions.find((one) => one.includes(thread)) ?? ''
    // To pass over a row that is locked, MariaDB begins to wait, and gives up at once.
    return own.includes('LOCK WAIT') && !own.includes('skip locked')
  }
}

/** Sequences of a topic's tasks that nobody has locked. */
export async function unlocked({ engine, execute }: Subject, observer: Session, topic: string): Promise<ReadonlySet<number>> {
  const from = raw(engine === 'postgres' ? 'taskstream.task' : 'task force index (primary)')
  const rows = await execute(
    observer.transaction,
    sql`select sequence from ${from} where topic = ${topic} for update skip locked`,
  )
  return new Set(rows.map(({ sequence }) => Number(sequence)))
}
