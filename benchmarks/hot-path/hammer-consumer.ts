/** One consumer of the hammer: a process of its own, so that it can be killed at any instruction. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Connection } from './database.ts'
import { connect, topic, transaction } from './database.ts'
import { findLayout } from './layouts/index.ts'
import type { Claim, Poller } from './layouts/layout.ts'
import { state } from './layouts/layout.ts'

export interface ConsumerOrder {
  readonly connection: Connection
  readonly layout: string
  readonly owner: string
  /** Only first deliveries in one total order: small batches, no second owner. */
  readonly alone: boolean
}

class RolledBack extends Error {}

const now = (): number => performance.timeOrigin + performance.now()
const chance = (share: number): boolean => Math.random() < share

async function claim(client: Client, poller: Poller, order: ConsumerOrder): Promise<Claim[]> {
  const size = 1 + Math.floor(Math.random() * (order.alone ? 20 : 120))
  const claims: Claim[] = []
  await transaction(client, async () => {
    // A caller may poll more than once before it commits.
    const polls = chance(0.1) ? 2 : 1
    for (let poll = 0; poll < polls; poll++) claims.push(...(await poller.poll(client, size, order.owner)))
    if (claims.length > 0) {
      await client.query(
        `insert into hammer_claim (sequence, attempt, owner, at) select s, a, $3, $4 from unnest($1::bigint[], $2::int[]) with ordinality as u (s, a, n) order by n`,
        [claims.map((each) => each.sequence), claims.map((each) => each.attempt), order.owner, now()],
      )
    }
    if (chance(0.02)) throw new RolledBack()
  })
  return claims
}

async function finish(client: Client, claims: readonly Claim[], order: ConsumerOrder): Promise<void> {
  const layout = findLayout(order.layout)
  const back = claims.filter(() => chance(0.03)).map((each) => each.sequence)
  if (back.length > 0) await layout.reset(client, topic, back)
  if (chance(0.2)) await sleep(Math.random() * 10)
  await transaction(client, async () => {
    // What was handed back is completed as well: the fence must refuse it, whoever holds it now.
    const completions = claims.map((each) => ({ ...each, state: state.succeeded, output: null }))
    const held = await layout.complete(client, topic, order.owner, completions)
    await client.query('insert into hammer_effect (sequence, owner) select unnest($1::bigint[]), $2', [held, order.owner])
  })
}

async function consume(order: ConsumerOrder): Promise<void> {
  const layout = findLayout(order.layout)
  const client = await connect(order.connection)
  const poller = layout.createPoller(topic)
  if (poller.tick && poller.tickMs) {
    const ticker = await connect(order.connection)
    const tick = async (): Promise<void> => {
      for (;;) {
        await poller.tick?.(ticker)
        await sleep(poller.tickMs)
      }
    }
    void tick()
  }
  process.send?.({ ready: true })
  for (;;) {
    let claims: Claim[] = []
    try {
      claims = await claim(client, poller, order)
      if (claims.length > 0) await finish(client, claims, order)
    } catch (error) {
      if (!(error instanceof RolledBack)) process.send?.({ error: (error as Error).message })
    }
    if (claims.length === 0) await sleep(2)
  }
}

process.once('message', (order: ConsumerOrder) => void consume(order))
process.once('disconnect', () => process.exit())
