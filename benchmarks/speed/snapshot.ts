/** A drain while another session holds a snapshot from before it, beside a drain while nobody does: what can be cleaned up counts. */
import { connect, withDatabase } from '../hot-path/database.ts'
import type { Connection } from '../hot-path/database.ts'
import { race } from '../hot-path/workers.ts'
import { pushBatch } from './pushes.ts'
import type { Prepare, Scale, Scenario } from './scenario.ts'
import { ratioOf } from './scenario.ts'

type Rate = (connection: Connection, tasks: number) => Promise<number>

const rates: Readonly<Record<string, Rate>> = {
  taskstream: (connection, tasks) => {
    const order = { connection, size: 1000 }
    return race('product-worker.ts', [order, order], tasks)
  },
  'pg-boss': (connection, tasks) => raceOf('pg-boss', connection, tasks),
  'graphile-worker': (connection, tasks) => raceOf('graphile-worker', connection, tasks),
}

export const heldSnapshot: Scenario['subjects'] = Object.fromEntries(
  Object.entries(rates).map(([subject, rate]): [string, Prepare] => [
    subject,
    ({ server, scale }) => {
      const drained = (held: boolean): Promise<number> =>
        withDatabase(server, (connection) =>
          drain(
            subject,
            rate,
            connection,
            { ...scale, batched: subject === 'taskstream' ? scale.beside : scale.drained / 2 },
            held,
          ),
        )
      return Promise.resolve({
        measure: ratioOf(
          () => drained(true),
          () => drained(false),
        ),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      })
    },
  ]),
)

async function drain(subject: string, rate: Rate, connection: Connection, scale: Scale, held: boolean): Promise<number> {
  await pushBatch[subject]!(connection, scale)
  if (!held) return rate(connection, scale.batched)
  const holder = await connect(connection)
  await holder.query('begin isolation level repeatable read')
  // The snapshot is taken by the first statement.
  await holder.query('select count(*) from pg_class')
  const figure = await rate(connection, scale.batched)
  await holder.query('rollback')
  await holder.end()
  return figure
}

function raceOf(peer: string, connection: Connection, tasks: number): Promise<number> {
  const order = { connection, peer }
  return race('peer-worker.ts', [order, order], tasks)
}
