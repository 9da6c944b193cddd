/** Works off a backlog in processes that start at the same moment. */
import { pushBacklog } from './backlogs.ts'
import type { BacklogSubject } from './backlogs.ts'
import { rateOf } from './cost.ts'
import { connect } from './database.ts'
import type { DrainOrder } from './drain-order.ts'
import { insertBatches, plainTable } from './pushes.ts'
import { race } from './race.ts'
import type { Measures, Scale } from './scenario.ts'

/** A number of tasks that every subject can share evenly among topics and batches. */
type CountOf = (scale: Scale) => number

export interface DrainOptions extends Pick<DrainOrder, 'topics' | 'settings' | 'does' | 'mode'> {
  /** Default 1. */
  readonly processes?: number
  /** Tasks of pg-boss and graphile-worker. Default: `batched`. */
  readonly count?: CountOf
  /** How many times as many tasks taskstream gets, because it is done too soon. Default 2. */
  readonly factor?: number
  /** The drain ends after so long. */
  readonly mostMs?: CountOf
  readonly peers?: readonly Exclude<BacklogSubject, 'taskstream'>[]
}

export function drain(options: DrainOptions = {}): Measures {
  const {
    processes = 1,
    count = ({ batched }) => batched,
    factor = 2,
    peers = ['pg-boss', 'graphile-worker'],
    mostMs,
    ...order
  } = options
  const subjects: readonly BacklogSubject[] = ['taskstream', ...peers]
  const measures = subjects.map((subject): [string, Measures[string]] => [
    subject,
    async (connection, scale) => {
      const tasks = subject === 'taskstream' ? factor * count(scale) : count(scale)
      const topics = order.topics ?? 1
      await pushBacklog(subject, connection, { count: tasks, topics, isTriedOnce: order.does === 'fail' })
      const orders = Array.from({ length: processes }, () => ({ ...order, subject, connection }))
      return race(orders, tasks, mostMs ? { mostMs: mostMs(scale) } : {})
    },
  ])
  return Object.fromEntries(measures)
}

/** The least that a drain has to do: updates of a thousand rows by one statement. */
export const drainPlain: Measures = {
  limit: async (connection, scale) => {
    const client = await connect(connection)
    await plainTable(client)
    await insertBatches(client, scale.batched)
    await client.query('alter table plain add column state smallint not null default 1')
    await client.query('vacuum analyze plain')
    const rate = await rateOf(connection, scale.batched, async () => {
      for (let from = 0; from < scale.batched; from += 1000) {
        const text = 'update plain set state = 6 where sequence > $1 and sequence <= $2 returning sequence'
        await client.query({ name: 'complete', text, values: [from, from + 1000] })
      }
    })
    await client.end()
    return rate
  },
}
