/** Tries to make a layout lose a task, run one twice, or hand out a producer's tasks in the wrong order. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Connection } from './database.ts'
import { connect, install, register, topic, withDatabase } from './database.ts'
import type { ConsumerOrder } from './hammer-consumer.ts'
import type { Layout } from './layouts/layout.ts'

export interface HammerResult {
  readonly layout: string
  readonly tasks: number
  readonly kills: number
  readonly missing: number
  readonly twice: number
  readonly phantom: number
  readonly leftReady: number
  readonly leftActive: number
  readonly beforeCommit: number
  readonly outOfOrder: number
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number; readonly max: number }
  readonly errors: readonly string[]
}

interface Push {
  readonly producer: number
  readonly committing: number
  readonly committed: number
}

interface Crowd {
  readonly server: Connection
  readonly layout: Layout
  readonly seconds: number
  readonly consumers: number
  readonly kills: boolean
}

const schema = [
  'create table hammer_claim (id bigint generated always as identity, sequence bigint, attempt int, owner text, at float8)',
  // No key: a task completed twice must show.
  'create table hammer_effect (sequence bigint, owner text)',
]
const now = (): number => performance.timeOrigin + performance.now()

/** Several consumers, one of them killed every 0.7 s; then one alone, whose claims have a total order to check. */
export async function hammer(server: Connection, layout: Layout, seconds: number): Promise<HammerResult> {
  const crowd = await pound({ server, layout, seconds, consumers: 4, kills: true })
  const alone = await pound({ server, layout, seconds: seconds / 2, consumers: 1, kills: false })
  const sum = (pick: (result: HammerResult) => number): number => pick(crowd) + pick(alone)
  return {
    ...crowd,
    tasks: sum((each) => each.tasks),
    missing: sum((each) => each.missing),
    twice: sum((each) => each.twice),
    phantom: sum((each) => each.phantom),
    leftReady: sum((each) => each.leftReady),
    leftActive: sum((each) => each.leftActive),
    beforeCommit: sum((each) => each.beforeCommit),
    outOfOrder: alone.outOfOrder,
    errors: [...crowd.errors, ...alone.errors],
  }
}

export function isClean(result: HammerResult): boolean {
  const { missing, twice, phantom, leftReady, leftActive, beforeCommit, outOfOrder, errors } = result
  return [missing, twice, phantom, leftReady, leftActive, beforeCommit, outOfOrder, errors.length].every((count) => count === 0)
}

async function pound(crowd: Crowd): Promise<HammerResult> {
  return withDatabase(crowd.server, async (connection) => {
    await install(connection, crowd.layout)
    const admin = await connect(connection)
    for (const statement of schema) await admin.query(statement)
    const errors: string[] = []
    const dead: string[] = []
    const consumers: { owner: string; process: ChildProcess }[] = []
    const start = async (index: number): Promise<void> => {
      const owner = `owner ${index} ${Math.random()}`
      await register(admin, [owner])
      const child = fork(new URL('hammer-consumer.ts', import.meta.url), { stdio: 'inherit' })
      const ready = new Promise((resolve) => child.once('message', resolve))
      child.on('message', (message: { error?: string }) => {
        if (message.error) errors.push(message.error)
      })
      const order: ConsumerOrder = { connection, layout: crowd.layout.name, owner, alone: !crowd.kills }
      child.send(order)
      consumers[index] = { owner, process: child }
      await ready
    }
    for (let index = 0; index < crowd.consumers; index++) await start(index)

    const pushes = new Map<number, Push>()
    const until = Date.now() + crowd.seconds * 1000
    const producers = [0, 1, 2, 3].map((producer) => produce(connection, crowd.layout, producer, until, pushes))
    let kills = 0
    while (Date.now() < until) {
      await sleep(crowd.kills ? 350 : 200)
      if (!crowd.kills) continue
      const index = Math.floor(Math.random() * crowd.consumers)
      const victim = consumers[index]
      if (victim && kills * 700 < Date.now() - (until - crowd.seconds * 1000)) {
        victim.process.kill('SIGKILL')
        await admin.query('delete from task_owner where owner = $1', [victim.owner])
        dead.push(victim.owner)
        kills++
        await start(index)
      }
      // A living owner may be taken for dead as well: its completions must then be refused.
      const slow = consumers[Math.floor(Math.random() * crowd.consumers)]
      if (slow && Math.random() < 0.3) await crowd.layout.expire(admin, topic, slow.owner)
      await tend(admin, crowd.layout, dead)
    }
    await Promise.all(producers)
    await settle(admin, crowd.layout, dead)
    for (const consumer of consumers) {
      const ended = once(consumer.process, 'exit')
      consumer.process.kill('SIGKILL')
      await ended
    }
    const result = await judge(admin, pushes)
    await admin.end()
    return { layout: crowd.layout.name, kills, errors, ...result }
  })
}

async function produce(
  connection: Connection,
  layout: Layout,
  producer: number,
  until: number,
  pushes: Map<number, Push>,
): Promise<void> {
  const client = await connect(connection)
  for (let number = 0; Date.now() < until; number++) {
    const identifiers = Array.from({ length: 1 + Math.floor(Math.random() * 12) }, (_, index) => `${producer} ${number} ${index}`)
    await client.query('begin')
    const sequences = await layout.push(client, topic, identifiers, identifiers)
    if (Math.random() < 0.3) await sleep(Math.random() * 300)
    if (Math.random() < 0.05) {
      await client.query('rollback')
      continue
    }
    const committing = now()
    await client.query('commit')
    for (const sequence of sequences) pushes.set(sequence, { producer, committing, committed: now() })
    if (Math.random() < 0.5) await sleep(Math.random() * 4)
  }
  await client.end()
}

async function tend(admin: Client, layout: Layout, dead: readonly string[]): Promise<void> {
  // Again and again: the last poll of a killed process may commit after its owner was expired.
  for (const owner of dead.slice(-8)) await layout.expire(admin, topic, owner)
  await layout.maintain?.(admin, topic)
}

/** Until nothing is left to do, or two seconds have brought nothing. */
async function settle(admin: Client, layout: Layout, dead: readonly string[]): Promise<void> {
  let left = -1
  for (let idle = 0; idle < 20; idle++) {
    for (const owner of dead) await layout.expire(admin, topic, owner)
    const { rows } = await admin.query<{ left: number }>('select count(*)::int as left from task where state in (0, 1)')
    if (rows[0]?.left === 0) return
    if (rows[0]?.left !== left) idle = 0
    left = rows[0]?.left ?? 0
    await sleep(100)
  }
}

async function judge(
  admin: Client,
  pushes: ReadonlyMap<number, Push>,
): Promise<Omit<HammerResult, 'layout' | 'kills' | 'errors'>> {
  const effects = await admin.query<{ sequence: number; times: number }>(
    'select sequence, count(*)::int as times from hammer_effect group by 1',
  )
  const times = new Map(effects.rows.map((row) => [row.sequence, row.times]))
  const left = await admin.query<{ state: number; count: number }>('select state, count(*)::int as count from task group by 1')
  const leftIn = (wanted: number): number => left.rows.find((row) => row.state === wanted)?.count ?? 0
  const claims = await admin.query<{ sequence: number; attempt: number; at: number }>(
    'select sequence, attempt, at from hammer_claim order by id',
  )
  const latencies: number[] = []
  const last = new Map<number, number>()
  let beforeCommit = 0
  let outOfOrder = 0
  for (const claim of claims.rows) {
    const push = pushes.get(claim.sequence)
    if (!push || claim.attempt > 1) continue
    if (claim.at < push.committing) beforeCommit++
    latencies.push(Math.max(0, claim.at - push.committed))
    if (claim.sequence < (last.get(push.producer) ?? 0)) outOfOrder++
    last.set(push.producer, Math.max(claim.sequence, last.get(push.producer) ?? 0))
  }
  latencies.sort((left, right) => left - right)
  const at = (share: number): number => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  return {
    tasks: pushes.size,
    missing: [...pushes.keys()].filter((sequence) => !times.has(sequence)).length,
    twice: effects.rows.filter((row) => row.times > 1).length,
    phantom: effects.rows.filter((row) => !pushes.has(row.sequence)).length,
    leftReady: leftIn(1),
    leftActive: leftIn(0),
    beforeCommit,
    outOfOrder,
    latencyMs: { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) },
  }
}
