/** Drains with graphile-worker. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Logger, run } from 'graphile-worker'
import type { Runner, Task } from 'graphile-worker'
import { failing, topicsOf, waitMs, writtenText } from './drain-order.ts'
import type { Doing, OpenDrain } from './drain-order.ts'
import { preset } from './graphile.ts'
import { countingClient, peerPool } from './named-client.ts'

function taskOf(does: Doing): Task {
  if (does === 'write') return (_, { withPgClient }) => withPgClient((client) => client.query(writtenText)).then(() => undefined)
  if (does === 'wait') return () => sleep(waitMs)
  if (does === 'nothing') return () => {}
  const fails = failing()
  return () => {
    if (fails()) throw new Error('for good')
  }
}

/** Its events come when a handler has ended. What is counted are the rows of the statements that complete and fail, when they are stored. */
export const open: OpenDrain = (order, done) => {
  const { connection, settings, does = 'nothing' } = order
  const count = ({ name = '' }, { rowCount }: { rowCount: number | null }): number =>
    /^(complete|fail)_job/.test(name) ? (rowCount ?? 0) : 0
  const pgPool = peerPool(
    connection,
    settings === 'default' ? 10 : 25,
    countingClient({ isNamed: settings !== 'default', count, done }),
  )
  const task = taskOf(does)
  const taskList = Object.fromEntries(topicsOf(order).map((topic) => [topic, task]))
  const logger = new Logger(() => () => {})
  let runner: Runner | undefined
  return Promise.resolve({
    start: async () => {
      runner = await run({ pgPool, logger, noHandleSignals: true, taskList, ...(settings === 'default' ? {} : { preset }) })
    },
    stop: async () => {
      await runner?.stop()
      await pgPool.end()
    },
  })
}
