/** Maintenance: what dead owners held comes back, and ranges that are done are merged. */
import { Actor, deadMs } from './actor.ts'

const actor = new Actor()
const { tiles, ledger } = actor
let from: number | undefined = 0

await Promise.all([
  actor.repeat(async (client) => {
    const expired = await tiles.expire(client, deadMs)
    if (expired > 0) ledger.say({ k: 'count', what: 'expired ranges and rows', n: expired })
    await actor.pause(50, 400)
  }),
  ...[0, 1].map(() =>
    actor.repeat(async (client) => {
      const { fewer, next } = await tiles.merge(client, from ?? 0, actor.pick([5, 50, 200]))
      from = next
      if (fewer > 0) ledger.say({ k: 'count', what: 'merged', n: fewer })
      await actor.pause(5, 100)
    }),
  ),
])
