/** Works off a backlog with a handler that does nothing, in processes that start at the same moment. */
import { connect } from './database.ts'
import { pushBatch } from './pushes.ts'
import { rateOf } from './scenario.ts'
import type { Measures } from './scenario.ts'
import { race } from './workers.ts'

const peers = ['pg-boss', 'graphile-worker'] as const

export function drain(processes: number, mode: 'leased' | 'transactional' = 'leased'): Measures {
  return {
    taskstream: async (connection, scale) => {
      // taskstream gets twice the tasks, because the peers' number is done too soon for a meaningful figure.
      const count = 2 * scale.batched
      await pushBatch['taskstream']!(connection, { ...scale, batched: count })
      const orders = Array.from({ length: processes }, () => ({ connection, size: 1000, mode }))
      return race('product-worker.ts', orders, count)
    },
    ...Object.fromEntries(
      peers.map((peer): [string, Measures[string]] => [
        peer,
        async (connection, scale) => {
          await pushBatch[peer]!(connection, scale)
          return race(
            'peer-worker.ts',
            Array.from({ length: processes }, () => ({ connection, peer })),
            scale.batched,
          )
        },
      ]),
    ),
    limit: async (connection, scale) => {
      await pushBatch['limit']!(connection, scale)
      const client = await connect(connection)
      await client.query('alter table plain add column state smallint not null default 1')
      await client.query('vacuum analyze plain')
      const rate = await rateOf(scale.batched, async () => {
        for (let from = 0; from < scale.batched; from += 1000)
          await client.query('update plain set state = 6 where sequence > $1 and sequence <= $2 returning sequence', [
            from,
            from + 1000,
          ])
      })
      await client.end()
      return rate
    },
  }
}
