/**
 * A drain while another session holds an older snapshot, relative to a drain without one: the snapshot keeps rows from being
 * cleaned up. Both run at the same time, in a process and a database each, because a snapshot affects only its own database.
 */
import { pushBacklog } from './backlogs.ts'
import type { BacklogSubject } from './backlogs.ts'
import { connect, withDatabase } from './database.ts'
import type { Connection } from './database.ts'
import type { DrainOrder } from './drain-order.ts'
import { compare } from './race.ts'
import type { Prepare, Scale, Scenario } from './scenario.ts'

/** How many tasks each subject drains. */
const subjects: Readonly<Record<BacklogSubject, (scale: Scale) => number>> = {
  taskstream: ({ beside }) => beside,
  'pg-boss': ({ drained }) => drained / 2,
  'graphile-worker': ({ drained }) => drained / 2,
}

export const heldSnapshot: Scenario['subjects'] = Object.fromEntries(
  (Object.keys(subjects) as BacklogSubject[]).map((subject): [string, Prepare] => [
    subject,
    ({ server, scale }) => {
      const count = subjects[subject](scale)
      return Promise.resolve({
        measure: () =>
          withDatabase(server, (free) =>
            withDatabase(server, async (held) => {
              for (const connection of [free, held]) await pushBacklog(subject, connection, { count })
              const orders = [held, free].map((connection) => ({ subject, connection })) as [DrainOrder, DrainOrder]
              return withSnapshot(held, () => compare(orders, count))
            }),
          ),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      })
    },
  ]),
)

async function withSnapshot<Result>(connection: Connection, work: () => Promise<Result>): Promise<Result> {
  const holder = await connect(connection)
  await holder.query('begin isolation level repeatable read')
  // The first statement takes the snapshot.
  await holder.query('select count(*) from pg_class')
  const result = await work()
  await holder.query('rollback')
  await holder.end()
  return result
}
