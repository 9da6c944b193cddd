/** Three loops of one owner that poll, handle and complete; some of their transactions are rolled back, some completions come twice or too late. */
import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Poll, Polled } from '../tiles.ts'
import { again, failed, succeeded } from '../tiles.ts'
import { Actor, inTransaction } from './actor.ts'
import { nowUs } from './ledger.ts'

const actor = new Actor()
const { tiles, ledger } = actor
const owner = actor.orders.name

await Promise.all([actor.repeat(beat), ...[0, 1, 2].map(() => actor.repeat(handle))])

/** Sometimes the beats stop for longer than an owner may be silent, while its loops go on. */
async function beat(client: Client): Promise<void> {
  await tiles.beat(client, owner)
  await setTimeout(actor.chance(0.01) ? 4_000 : 300)
}

async function handle(client: Client): Promise<void> {
  const poll = await take(client)
  if (poll.tasks.length === 0) return void (await actor.pause(poll.status ? 1 : 10, poll.status ? 5 : 40))
  await setTimeout(actor.chance(0.03) ? actor.between(500, 4_000) : actor.between(0, 30))
  if (actor.isStopping || actor.chance(0.02)) return tiles.handBack(client, poll)
  const [first, second] = actor.chance(0.05) ? halves(poll.tasks) : [poll.tasks, []]
  for (const tasks of [first, second]) {
    if (tasks.length === 0) continue
    const decisions = decide(tasks)
    // What is rolled back is completed once more.
    if (actor.chance(0.03)) await complete(client, poll, decisions, true)
    await complete(client, poll, decisions)
    if (actor.chance(0.03)) await complete(client, poll, decisions)
  }
}

async function take(client: Client): Promise<Poll> {
  const size = actor.pick([1, 3, 10, 17, 50, 100, 200, 300, 1_000])
  const begin = nowUs()
  const polling = { wait: actor.chance(0.5) }
  if (actor.chance(0.03)) {
    await client.query('begin')
    await tiles.poll(client, owner, size, polling)
    await setTimeout(actor.between(0, 100))
    await client.query('rollback')
  }
  const poll = actor.chance(0.03)
    ? await inTransaction(client, async () => {
        const taken = await tiles.poll(client, owner, size, polling)
        await setTimeout(actor.between(0, 100))
        return taken
      })
    : await tiles.poll(client, owner, size, polling)
  const tasks = poll.tasks.map(({ sequence, identifier, attempt }) => [sequence, identifier, attempt] as const)
  if (tasks.length > 0) ledger.say({ k: 'poll', begin, end: nowUs(), owner, tasks })
  if (poll.status) ledger.say({ k: 'count', what: `poll ${poll.status}`, n: 1 })
  if (poll.tasks.length > size) ledger.say({ k: 'broken', what: `${size} were asked for, and ${poll.tasks.length} given` })
  return poll
}

function decide(tasks: readonly Polled[]): Map<number, number> {
  const isMixed = actor.chance(0.08)
  return new Map(tasks.map(({ sequence }) => [sequence, isMixed && actor.chance(0.1) ? actor.pick([failed, again]) : succeeded]))
}

/** The effect of each task, and its end, are one transaction. */
async function complete(client: Client, poll: Poll, decisions: Map<number, number>, isRolledBack = false): Promise<void> {
  const begin = nowUs()
  const tasks = poll.tasks.filter(({ sequence }) => decisions.has(sequence))
  await client.query('begin')
  let effective = tasks
  const holds = actor.chance(0.3)
  if (holds) {
    const held = await tiles.hold(client, poll)
    effective = tasks.filter(({ sequence }) => held.has(sequence))
    await effect(client, effective, decisions)
  }
  const won = await tiles.complete(client, poll, new Map(effective.map(({ sequence }) => [sequence, decisions.get(sequence)!])))
  const completed = tasks.filter(({ sequence }) => won.has(sequence))
  if (!holds) await effect(client, completed, decisions)
  else if (completed.length !== effective.length)
    ledger.say({ k: 'broken', what: `${effective.length} tasks were held, locked, and ${completed.length} completed` })
  if (isRolledBack) return void (await client.query('rollback'))
  await client.query('commit')
  const said = completed.map(({ sequence, attempt }) => [sequence, attempt] as const)
  ledger.say({ k: 'done', begin, end: nowUs(), won: said, lost: tasks.length - won.size })
}

async function effect(client: Client, tasks: readonly Polled[], decisions: Map<number, number>): Promise<void> {
  const ended = tasks.filter(({ sequence }) => decisions.get(sequence) !== again)
  await client.query(
    'insert into effect (identifier, attempt, owner) select i, a, $3 from unnest($1::text[], $2::int[]) u (i, a)',
    [ended.map(({ identifier }) => identifier), ended.map(({ attempt }) => attempt), owner],
  )
}

function halves<T>(some: readonly T[]): [readonly T[], readonly T[]] {
  const at = Math.ceil(some.length / 2)
  return [some.slice(0, at), some.slice(at)]
}
