/**
 * A drain while another session holds an older snapshot, relative to a drain without one: the snapshot keeps rows from being
 * cleaned up. Both run at the same time, in a process and a database each, because a snapshot affects only its own database.
 */
import { connect, withDatabase } from './database.ts'
import type { Connection } from './database.ts'
import { pushBatch } from './pushes.ts'
import type { Prepare, Scale, Scenario } from './scenario.ts'
import { compare } from './workers.ts'

interface Subject {
  readonly worker: string
  readonly order: (connection: Connection) => object
  readonly tasks: (scale: Scale) => number
}

const peer = (name: string): Subject => ({
  worker: 'peer-worker.ts',
  order: (connection) => ({ connection, peer: name }),
  tasks: ({ drained }) => drained / 2,
})

const subjects: Readonly<Record<string, Subject>> = {
  taskstream: {
    worker: 'product-worker.ts',
    order: (connection) => ({ connection, size: 1000 }),
    tasks: ({ beside }) => beside,
  },
  'pg-boss': peer('pg-boss'),
  'graphile-worker': peer('graphile-worker'),
}

export const heldSnapshot: Scenario['subjects'] = Object.fromEntries(
  Object.entries(subjects).map(([name, { worker, order, tasks }]): [string, Prepare] => [
    name,
    ({ server, scale }) => {
      const count = tasks(scale)
      const push = (connection: Connection): Promise<unknown> => pushBatch[name]!(connection, { ...scale, batched: count })
      return Promise.resolve({
        measure: () =>
          withDatabase(server, (free) =>
            withDatabase(server, async (held) => {
              await push(free)
              await push(held)
              return withSnapshot(held, () => compare(worker, [order(held), order(free)], count))
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
