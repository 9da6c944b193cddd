/** Runs the hammer: starts the processes, kills, stops and restarts them and the server, looks at the tables meanwhile, and drains at the end. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { startPostgres } from '../../databases/postgres-server.ts'
import type { PostgresServer } from '../../databases/postgres-server.ts'
import { randomOf } from '../../interleavings/random.ts'
import type { Form } from '../guards.ts'
import { brokenInvariants } from '../invariants.ts'
import { ledgerSchema } from '../schema.ts'
import { succeeded, Tiles } from '../tiles.ts'
import { Product } from '../product.ts'
import { inTransaction } from './actor.ts'
import type { Orders } from './actor.ts'
import type { Verdict } from './checker.ts'
import { Checker } from './checker.ts'

export interface HammerOptions {
  readonly form: Form
  readonly seconds: number
  readonly seed: number
  /** How many times the server is shut down at once. */
  readonly crashes: number
}

export interface HammerReport extends Verdict {
  readonly record: string
  readonly seed: number
  readonly seconds: number
  readonly kills: number
  readonly stops: number
  readonly pauses: number
  readonly crashes: number
  readonly looks: number
  /** At the end: ranges by state, and rows of tasks that have a state of their own. */
  readonly left: Readonly<Record<string, number>>
}

const producers = 4
const consumers = 5
/** Kills leave nothing behind that a restart of the server would not; fsync is for machines that lose power. */
const settings = { synchronous_commit: 'on', max_connections: '120', deadlock_timeout: '200ms' }

export async function hammer(options: HammerOptions): Promise<HammerReport> {
  await using server = await startPostgres({ settings })
  const folder = mkdtempSync(join(tmpdir(), 'taskstream-tiles-'))
  try {
    return await new Hammer(server, folder, options).run()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

class Hammer {
  readonly #server
  readonly #folder
  readonly #options
  readonly #random
  readonly #checker = new Checker()
  readonly #consumers: ChildProcess[] = []
  readonly #others: ChildProcess[] = []
  readonly #tally = { kills: 0, stops: 0, pauses: 0, crashes: 0, looks: 0 }
  #started = 0

  constructor(server: PostgresServer, folder: string, options: HammerOptions) {
    this.#server = server
    this.#folder = folder
    this.#options = options
    this.#random = randomOf(options.seed)
  }

  async run(): Promise<HammerReport> {
    const { form, seconds, seed } = this.#options
    await this.#withClient(async (client) => {
      if (process.env['HAMMER_PRODUCT']) await Product.create(client)
      else await Tiles.create(client, form)
      await client.query(ledgerSchema)
    })
    for (let nth = 0; nth < producers; nth++) this.#others.push(this.#start('producer', `p${nth}`))
    for (let nth = 0; nth < 2; nth++) this.#others.push(this.#start('operator', `o${nth}`))
    this.#others.push(this.#start('keeper', 'k'))
    for (let nth = 0; nth < consumers; nth++) this.#consumers.push(this.#start('consumer', `c${nth}.0`))
    const end = performance.now() + seconds * 1_000
    await Promise.all([this.#strike(end), this.#crash(end), this.#look(end)])
    for (const child of [...this.#others, ...this.#consumers]) child.kill('SIGTERM')
    const ends = [...this.#others, ...this.#consumers].map((child) => this.#ended(child))
    await Promise.all(ends)
    return this.#withClient(async (client) => {
      await this.#drain(client)
      for (const broken of await brokenInvariants(client)) this.#checker.violate(broken.replace(/^\d+ |:.*$/g, ''), broken)
      const verdict = await this.#checker.judge(this.#folder, client)
      return { record: form.record, seed, seconds, ...this.#tally, left: await whatIsLeft(client), ...verdict }
    })
  }

  #start(program: string, name: string): ChildProcess {
    const { form, seed } = this.#options
    const { connection } = this.#server
    const orders: Orders = { connection, folder: this.#folder, name, record: form.record, seed: seed * 1_000 + this.#started++ }
    return fork(new URL(`./${program}.ts`, import.meta.url), [JSON.stringify(orders)])
  }

  async #ended(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGCONT')
    const timer = globalThis.setTimeout(() => child.kill('SIGKILL'), 10_000)
    await ended
    clearTimeout(timer)
  }

  /** Every second or so one consumer is killed, stopped or paused for longer than its lease. */
  async #strike(end: number): Promise<void> {
    for (let nth = 1; performance.now() < end; nth++) {
      await setTimeout(200 + this.#random() * 900)
      const at = Math.floor(this.#random() * consumers)
      const victim = this.#consumers[at]!
      const blow = this.#random()
      if (blow < 0.1) {
        this.#tally.pauses++
        victim.kill('SIGSTOP')
        await setTimeout(2_500 + this.#random() * 1_500)
        victim.kill('SIGCONT')
        continue
      }
      this.#tally[blow < 0.3 ? 'stops' : 'kills']++
      victim.kill(blow < 0.3 ? 'SIGTERM' : 'SIGKILL')
      await this.#ended(victim)
      this.#consumers[at] = this.#start('consumer', `c${at}.${nth}`)
    }
  }

  async #crash(end: number): Promise<void> {
    const { crashes, seconds } = this.#options
    for (let nth = 0; nth < crashes; nth++) {
      await setTimeout((seconds * 1_000) / (crashes + 1))
      if (performance.now() > end) return
      await this.#server.crash('SIGQUIT')
      this.#tally.crashes++
    }
  }

  /** Looks at the tables in the midst of it. */
  async #look(end: number): Promise<void> {
    while (performance.now() < end) {
      await setTimeout(2_000)
      try {
        await this.#withClient(async (client) => {
          for (const broken of await brokenInvariants(client)) this.#checker.violate(broken.replace(/^\d+ |:.*$/g, ''), broken)
        })
        this.#tally.looks++
      } catch {
        // The server is down.
      }
    }
  }

  /** One consumer after all the others have ended. Who died holds nothing after this. */
  async #drain(client: pg.Client): Promise<void> {
    const tiles: Tiles = process.env['HAMMER_PRODUCT'] ? new Product() : new Tiles(this.#options.form)
    const began = performance.now()
    for (let empty = 0; empty < 5;) {
      await tiles.beat(client, 'finisher')
      const expired = await tiles.expire(client, 0)
      await tiles.beat(client, 'finisher')
      const poll = await tiles.poll(client, 'finisher', 500, { wait: true })
      await inTransaction(client, async () => {
        const won = await tiles.complete(client, poll, new Map(poll.tasks.map(({ sequence }) => [sequence, succeeded])))
        const done = poll.tasks.filter(({ sequence }) => won.has(sequence)).map(({ identifier }) => identifier)
        await client.query(`insert into effect (identifier, attempt, owner) select i, 0, 'finisher' from unnest($1::text[]) i`, [
          done,
        ])
      })
      empty = expired === 0 && poll.tasks.length === 0 && poll.status !== 'again' ? empty + 1 : 0
      // Something comes back for ever: what is left is told as never completed.
      if (performance.now() - began > 120_000) break
    }
    for (let from: number | undefined = 0; from !== undefined;) from = (await tiles.merge(client, from)).next
  }

  async #withClient<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ ...this.#server.connection, options: '-c search_path=taskstream,public' })
    client.on('error', () => {})
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end().catch(() => {})
    }
  }
}

async function whatIsLeft(client: pg.Client): Promise<Record<string, number>> {
  const { rows } = await client.query<{ what: string; n: number }>(`
    select 'ranges in state ' || state as what, count(*)::int as n from task_range group by 1
    union all select 'tasks', count(*)::int from task
    union all select 'tasks with a state of their own', count(state)::int from task`)
  return Object.fromEntries(rows.map(({ what, n }) => [what, n]))
}
