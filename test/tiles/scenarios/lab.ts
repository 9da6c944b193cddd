/** What a scenario stages, and what must be true whatever it staged. */
import pg from 'pg'
import type { Form, Gate, Guard, TaskRecord } from '../guards.ts'
import { gateKey } from '../guards.ts'
import { brokenInvariants } from '../invariants.ts'
import type { Poll } from '../tiles.ts'
import { succeeded, Tiles } from '../tiles.ts'

export interface Connection {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
}

export class Lab {
  readonly tiles: Tiles
  readonly problems: string[] = []
  readonly #connection
  readonly #clients: pg.Client[] = []
  readonly #pushed = new Map<string, number>()
  /** Which poll gave a task first, by identifier. */
  readonly #polled = new Map<string, number>()
  readonly #given = new Set<string>()
  readonly #won = new Map<string, number>()
  /** Polls whose tasks nobody has completed yet. */
  readonly #open = new Set<Poll>()
  #polls = 0

  constructor(connection: Connection, form: Form) {
    this.tiles = new Tiles(form)
    this.#connection = connection
  }

  async prepare(form: Form): Promise<void> {
    const client = await this.connect('public')
    await client.query('drop schema if exists lab cascade; create schema lab; set search_path = lab')
    await Tiles.create(client, form)
  }

  async connect(path = 'lab'): Promise<pg.Client> {
    const client = new pg.Client({ ...this.#connection, options: `-c search_path=${path} -c deadlock_timeout=100ms` })
    client.on('error', () => {})
    await client.connect()
    // What happens now and then, by a draw, happens in no scenario.
    await client.query('select setseed(0.5)')
    this.#clients.push(client)
    return client
  }

  /** Pushes tasks that must be completed once, if the transaction commits. */
  async push(client: pg.Client, ...identifiers: string[]): Promise<number[]> {
    return this.tiles.push(
      client,
      identifiers.map((identifier) => this.wanted(identifier)),
    )
  }

  /** Says that a task is to be completed once. */
  wanted(identifier: string): string {
    this.#pushed.set(identifier, 1)
    return identifier
  }

  /** Says that a task is not to be completed after all. */
  forget(identifier: string): void {
    this.#pushed.delete(identifier)
  }

  /** Says how many times a task is to be completed. */
  expect(identifier: string, times: number): void {
    this.#pushed.set(identifier, times)
  }

  async poll(client: pg.Client, owner: string, size: number, options?: { readonly small?: number }): Promise<Poll> {
    await this.tiles.beat(client, owner)
    return this.note(await this.tiles.poll(client, owner, size, options))
  }

  async cut(client: pg.Client, owner: string, size = 100): Promise<Poll> {
    return this.note(await this.tiles.cut(client, owner, size))
  }

  async small(client: pg.Client, owner: string, size = 10): Promise<Poll> {
    return this.note(await this.tiles.claimSmall(client, owner, size))
  }

  note(poll: Poll): Poll {
    this.#polls++
    this.#open.add(poll)
    for (const { sequence, identifier, attempt } of poll.tasks) {
      if (!this.#polled.has(identifier)) this.#polled.set(identifier, this.#polls)
      const key = `${sequence} (${identifier}), attempt ${attempt}`
      if (this.#given.has(key)) this.problems.push(`given twice: ${key}`)
      this.#given.add(key)
    }
    return poll
  }

  /** Forgets what a poll gave, because its transaction was rolled back. */
  undo(poll: Poll): void {
    this.#open.delete(poll)
    for (const { sequence, identifier, attempt } of poll.tasks) {
      this.#polled.delete(identifier)
      this.#given.delete(`${sequence} (${identifier}), attempt ${attempt}`)
    }
  }

  async complete(client: pg.Client, poll: Poll): Promise<string[]> {
    this.#open.delete(poll)
    const { tasks } = poll
    const won = await this.tiles.complete(client, poll, new Map(tasks.map(({ sequence }) => [sequence, succeeded])))
    const identifiers = tasks.filter(({ sequence }) => won.has(sequence)).map(({ identifier }) => identifier)
    for (const identifier of identifiers) this.#won.set(identifier, (this.#won.get(identifier) ?? 0) + 1)
    return identifiers
  }

  /** `later` was pushed after `earlier` had been acknowledged. */
  expectOrder(earlier: readonly string[], later: readonly string[]): void {
    for (const a of earlier) {
      for (const b of later) {
        const [first, second] = [this.#polled.get(a) ?? Infinity, this.#polled.get(b) ?? Infinity]
        if (first > second) this.problems.push(`${b} was polled before ${a}`)
      }
    }
  }

  /** Lets a statement of a session of its own stand still at the gate of the form while something happens. */
  async stall<T>(statement: (client: pg.Client) => Promise<T>, meanwhile: () => Promise<unknown>): Promise<T> {
    const [keeper, stalled] = [await this.connect(), await this.connect()]
    await keeper.query('select pg_advisory_lock($1)', [gateKey])
    await stalled.query(`set lab.gate = 'on'`)
    const standing = statement(stalled)
    standing.catch(() => {})
    await this.waits(stalled)
    await meanwhile()
    await keeper.query('select pg_advisory_unlock($1)', [gateKey])
    return standing
  }

  /** Resolves when the statement of the client waits for a lock. */
  async waits(client: pg.Client): Promise<void> {
    const pid = (client as unknown as { processID: number }).processID
    await this.until(await this.connect(), `select 1 from pg_stat_activity where pid = ${pid} and wait_event_type = 'Lock'`)
  }

  /** Resolves when a statement finds something. */
  async until(client: pg.Client, query: string): Promise<void> {
    for (let tries = 0; (await client.query(query)).rows.length === 0; tries++)
      if (tries > 2_000) throw new Error(`nothing is found by ${query}`)
  }

  /** Completes what is open, polls and completes until nothing comes, then looks at what became of each task. */
  async finish(): Promise<readonly string[]> {
    const client = await this.connect()
    for (const poll of this.#open) await this.complete(client, poll)
    for (let empty = 0; empty < 3;) {
      const poll = await this.poll(client, 'finisher', 64)
      if (poll.tasks.length === 0) empty++
      else await this.complete(client, poll)
    }
    this.problems.push(...(await brokenInvariants(client)))
    for (const [identifier, times] of this.#pushed) {
      const won = this.#won.get(identifier) ?? 0
      if (won < times) this.problems.push(`never completed: ${identifier}`)
      if (won > times) this.problems.push(`completed ${won} times: ${identifier}`)
    }
    for (const identifier of this.#won.keys()) {
      if (!this.#pushed.has(identifier)) this.problems.push(`completed, though it was cancelled: ${identifier}`)
    }
    return this.problems
  }

  /** Says it is a problem if the frontier is below what it was. */
  async expectFrontier(client: pg.Client, step: () => Promise<unknown>): Promise<void> {
    const frontier = async (): Promise<number> => {
      const { rows } = await client.query<{ hi: string | null }>('select max(hi) as hi from task_range')
      return Number(rows[0]!.hi)
    }
    const before = await frontier()
    await step()
    if ((await frontier()) < before) this.problems.push('the frontier fell: what lies above it is read and cut again')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.end().catch(() => {})
  }
}

export interface Scenario {
  readonly name: string
  /** Guards without any of which the scenario must fail. */
  readonly guards: readonly Guard[]
  /** Guards that are missing from the form in which the guard matters. With these missing alone the scenario is clean. */
  readonly base?: readonly Guard[]
  readonly gate?: Gate
  /** The records in which the guard matters, if not in both. */
  readonly record?: TaskRecord
  run(lab: Lab, client: pg.Client): Promise<void>
}
