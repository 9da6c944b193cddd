/** One process that polls and completes until nothing is left, in batches, each statement a transaction of its own. */
import type { Connection } from './database.ts'
import { connect, topic } from './database.ts'
import { findLayout } from './layouts/index.ts'
import { state } from './layouts/layout.ts'

export interface DrainOrder {
  readonly connection: Connection
  readonly layout: string
  readonly owner: string
  readonly size: number
}

process.once('message', (order: DrainOrder) => void prepare(order))

async function prepare(order: DrainOrder): Promise<void> {
  const layout = findLayout(order.layout)
  const client = await connect(order.connection)
  const poller = layout.createPoller(topic)
  const ticker = poller.tick ? await connect(order.connection) : undefined
  const timer = ticker && setInterval(() => void poller.tick?.(ticker).catch(() => {}), poller.tickMs) // the last one may meet its connection's end
  process.once('message', async () => {
    let tasks = 0
    let ended = 0
    // Two empty polls: the first may have met rows that a rival was about to complete.
    for (let empty = 0; empty < 2;) {
      const claims = await poller.poll(client, order.size, order.owner)
      if (claims.length === 0) {
        empty++
        continue
      }
      empty = 0
      const completions = claims.map((claim) => ({ ...claim, state: state.succeeded, output: null }))
      tasks += (await layout.complete(client, topic, order.owner, completions)).length
      ended = performance.timeOrigin + performance.now()
    }
    clearInterval(timer)
    process.send?.({ tasks, ended })
    await client.end()
    await ticker?.end()
    process.disconnect()
  })
  process.send?.('ready')
}
