/** Two or three sessions, one order of events each: what a guard of C is for. Every scenario says what it lost, or nothing. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { PostgresServer } from '../../test/databases/postgres-server.ts'
import { connect, install, topic, withDatabase } from './database.ts'
import type { Claim, Layout, Poller } from './layouts/layout.ts'
import { state } from './layouts/layout.ts'

class Stage implements AsyncDisposable {
  readonly layout: Layout
  readonly poller: Poller
  readonly #open: () => Promise<Client>
  readonly #clients: Client[] = []
  main!: Client

  constructor(layout: Layout, open: () => Promise<Client>) {
    this.layout = layout
    this.poller = layout.createPoller(topic)
    this.#open = open
  }

  async session(): Promise<Client> {
    const client = await this.#open()
    this.#clients.push(client)
    return client
  }

  push(client: Client, ...identifiers: string[]): Promise<number[]> {
    return this.layout.push(client, topic, identifiers, identifiers)
  }

  /** Polls in a transaction of its own; repeated, so that a floor which moves too far has every occasion to. */
  async poll(options: { times?: number; size?: number; client?: Client } = {}): Promise<string[]> {
    const identifiers: string[] = []
    for (let time = 0; time < (options.times ?? 1); time++) {
      const claims = await this.poller.poll(options.client ?? this.main, options.size ?? 10, 'owner')
      identifiers.push(...claims.map((claim) => claim.identifier))
    }
    return identifiers
  }

  complete(claims: readonly Claim[]): Promise<number[]> {
    const completions = claims.map((claim) => ({ ...claim, state: state.succeeded, output: null }))
    return this.layout.complete(this.main, topic, 'owner', completions)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.end().catch(() => {})
  }
}

function missing(found: readonly string[], ...expected: string[]): string | undefined {
  const lost = expected.filter((identifier) => !found.includes(identifier))
  return lost.length > 0 ? `lost ${lost.join(', ')}` : undefined
}

type Scenario = (stage: Stage, server: PostgresServer) => Promise<string | undefined>

export const scenarios: Readonly<Record<string, Scenario>> = {
  'a push commits late': async (stage) => {
    const late = await stage.session()
    await late.query('begin')
    await stage.push(late, 'late')
    await stage.push(stage.main, 'early')
    await stage.poll({ times: 4 })
    await late.query('commit')
    return missing(await stage.poll(), 'late')
  },

  'a push begins after the mark and commits late': async (stage) => {
    const late = await stage.session()
    await stage.push(stage.main, 'early')
    await stage.poll()
    await late.query('begin')
    await stage.push(late, 'late')
    await stage.poll({ times: 2 })
    await stage.push(stage.main, 'another')
    await stage.poll({ times: 2 })
    await late.query('commit')
    return missing(await stage.poll(), 'late')
  },

  'the latest transaction is the late one': async (stage) => {
    const late = await stage.session()
    await stage.push(stage.main, 'early')
    await late.query('begin')
    await stage.push(late, 'late')
    await stage.poll({ times: 3 })
    await late.query('commit')
    return missing(await stage.poll(), 'late')
  },

  'a push dawdles between its sequence and its row': async (stage) => {
    await stage.main.query(
      `create function dawdle() returns trigger language plpgsql as $$begin perform pg_sleep(0.4); return new; end$$`,
    )
    await stage.main.query(
      `create trigger dawdle before insert on task for each row when (new.input = 'slow') execute function dawdle()`,
    )
    const slow = await stage.session()
    // The first number of every 32 is logged and would give the transaction an id in any case.
    await stage.push(stage.main, 'one', 'two')
    const pushed = stage.push(slow, 'slow')
    pushed.catch(() => {})
    await sleep(120)
    await stage.push(stage.main, 'three')
    await stage.poll({ times: 4 })
    await pushed
    return missing(await stage.poll(), 'slow')
  },

  'two polls in one transaction that rolls back': async (stage) => {
    await stage.push(stage.main, 'one', 'two', 'three')
    await stage.poll({ size: 1 })
    await stage.main.query('begin')
    await stage.poll({ size: 1, times: 2 })
    await stage.main.query('rollback')
    return missing(await stage.poll(), 'two', 'three')
  },

  'a poll that holds a lower row rolls back': async (stage) => {
    const other = await stage.session()
    await stage.push(stage.main, 'one', 'two', 'three')
    await stage.poll({ size: 1 })
    await other.query('begin')
    await other.query(`select from task where identifier = 'two' for update`)
    // Not one with an id: a lock alone takes one, so the pair must be older than this lock.
    await stage.poll({ times: 3 })
    await other.query('rollback')
    return missing(await stage.poll(), 'two')
  },

  'an old row is reset': async (stage) => {
    const [first] = await stage.push(stage.main, 'one', 'two')
    await stage.poll({ times: 3 })
    await stage.push(stage.main, 'three')
    await stage.poll({ times: 3 })
    await stage.layout.reset(stage.main, topic, [first ?? 0])
    return missing(await stage.poll(), 'one')
  },

  'a completion of an earlier attempt': async (stage) => {
    await stage.push(stage.main, 'one')
    const stale = await stage.poller.poll(stage.main, 1, 'owner')
    await stage.layout.reset(
      stage.main,
      topic,
      stale.map((claim) => claim.sequence),
    )
    await stage.poll()
    return (await stage.complete(stale)).length > 0 ? 'a stale completion won' : undefined
  },

  'an owner dies': async (stage) => {
    await stage.push(stage.main, 'one', 'two')
    const [claim] = await stage.poller.poll(stage.main, 1, 'owner')
    await stage.layout.reset(stage.main, topic, [claim?.sequence ?? 0])
    await stage.poll()
    await stage.layout.expire(stage.main, topic, 'owner')
    await stage.layout.maintain?.(stage.main, topic)
    return missing(await stage.poll(), 'one', 'two')
  },

  'an owner dies while a poll of it is in flight': async (stage) => {
    const inFlight = await stage.session()
    await stage.push(stage.main, 'one', 'two')
    await stage.poll({ size: 1 })
    await inFlight.query('begin')
    await stage.poll({ size: 1, client: inFlight })
    await stage.layout.expire(stage.main, topic, 'owner')
    await stage.layout.maintain?.(stage.main, topic)
    await inFlight.query('commit')
    await stage.layout.expire(stage.main, topic, 'owner')
    return missing(await stage.poll(), 'one', 'two')
  },

  'an old transaction ends after many polls': async (stage) => {
    const late = await stage.session()
    await stage.push(stage.main, 'first')
    await late.query('begin')
    await stage.push(late, 'late')
    for (let time = 0; time < 60; time++) {
      await stage.push(stage.main, `one ${time}`)
      await stage.poll()
    }
    await late.query('commit')
    return missing(await stage.poll(), 'late')
  },

  'a poll with an old snapshot': async (stage) => {
    const old = await stage.session()
    const late = await stage.session()
    await stage.push(stage.main, 'one')
    await stage.poll({ times: 2 })
    await old.query('begin isolation level repeatable read')
    await old.query('select 1 from task')
    await stage.push(late, 'late')
    const locker = await stage.session()
    await locker.query('begin')
    await locker.query(`select from task where identifier = 'late' for update`)
    await stage.push(stage.main, 'two')
    await stage.poll({ times: 2 })
    await locker.query('rollback')
    await stage.poll({ client: old, times: 2 })
    await old.query('commit')
    return missing(await stage.poll(), 'late')
  },

  'the database crashes and forgets claims': async (stage, server) => {
    await stage.main.query('set synchronous_commit = on')
    await stage.push(stage.main, 'one', 'two', 'three')
    await stage.main.query('set synchronous_commit = off')
    await stage.poll({ size: 2, times: 3 })
    await server.crash()
    stage.main = await stage.session()
    const ready = await stage.main.query<{ identifier: string }>('select identifier from task where state = 1')
    if (ready.rows.length === 0) return 'nothing was forgotten: the scenario proves nothing'
    return missing(await stage.poll(), ...ready.rows.map((row) => row.identifier))
  },
}

export async function play(server: PostgresServer, name: string, layout: Layout): Promise<string | undefined> {
  return withDatabase(server.connection, async (connection) => {
    await install(connection, layout, ['owner'])
    await using stage = new Stage(layout, () => connect(connection))
    stage.main = await stage.session()
    return await scenarios[name]?.(stage, server)
  })
}
