/** Three sources, each with a connection. A source pushes one transaction after the other, so that its order is known. */
import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
import { Actor, expect } from './actor.ts'
import { nowUs } from './ledger.ts'

const actor = new Actor()
const { tiles, ledger } = actor

await Promise.all([0, 1, 2].map((nth) => source(`${actor.orders.name}.${nth}`)))

function source(name: string): Promise<void> {
  let next = 0
  return actor.repeat(async (client) => {
    const first = next
    const gone: number[] = []
    const draw = (count: number): string[] => Array.from({ length: count }, () => `${name}-${next++}`)
    const begin = nowUs()
    await client.query('begin')
    for (let pushes = actor.chance(0.2) ? actor.between(2, 4) : 1; pushes > 0; pushes--) {
      if (actor.chance(0.05)) await pushAndTakeBack(client, draw, gone)
      await push(client, draw(size()))
    }
    const isLate = actor.chance(0.3)
    if (isLate) await setTimeout(actor.chance(0.1) ? actor.between(300, 1500) : actor.between(20, 300))
    if (actor.chance(0.06)) return void (await client.query('rollback'))
    await client.query('commit')
    ledger.say({ k: 'push', source: name, begin, end: nowUs(), first, count: next - first, gone, isLate })
    await actor.pause(20, 250)
  })
}

function size(): number {
  if (actor.chance(0.5)) return 1
  return actor.chance(0.01) ? actor.between(1_000, 2_500) : actor.between(2, 60)
}

async function push(client: Client, identifiers: readonly string[]): Promise<void> {
  await tiles.push(client, identifiers)
  await expect(client, identifiers, 1, 'push')
}

async function pushAndTakeBack(client: Client, draw: (count: number) => string[], gone: number[]): Promise<void> {
  await client.query('savepoint s')
  const identifiers = draw(size())
  await push(client, identifiers)
  await client.query('rollback to savepoint s')
  for (const identifier of identifiers) gone.push(Number(identifier.slice(identifier.lastIndexOf('-') + 1)))
}
