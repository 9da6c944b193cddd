/** The tile form as its callers see it: what a poll gives, what a completion says. Each method is one transaction, unless the client is in one. */
import { randomInt } from 'node:crypto'
import type { ClientBase } from 'pg'
import type { Form } from './guards.ts'
import { cutFunction, fetchTasks, smallFunction } from './statements/cut.ts'
import { completeAll, completeSome, expire, handBack, hold, purge, stillThere } from './statements/finish.ts'
import { leaveFunction } from './statements/leave.ts'
import { merge } from './statements/merge.ts'
import { pushStatement } from './statements/push.ts'
import { claimListed, completeRows, expireRows, holdRows } from './statements/rows.ts'
import { schema } from './schema.ts'

export interface Polled {
  readonly sequence: number
  readonly identifier: string
  readonly input: string
  readonly attempt: number
}

/** A range that was born leased, or the rows of a poll. */
export interface Lease {
  /** Where the range begins, or undefined for rows. */
  readonly lo?: number
  readonly tasks: readonly Polled[]
}

export interface Poll {
  readonly owner: string
  readonly token: number
  readonly leases: readonly Lease[]
  readonly tasks: readonly Polled[]
  readonly isLate?: boolean
  /** Nothing was taken, because somebody else cuts (`busy`), the frontier only moved (`again`), or tasks are listed (`listed`). */
  readonly status?: string
}

/** What becomes of a task: a state, where 1 means at once again. */
export type Decisions = ReadonlyMap<number, number>
export const succeeded = 6
export const failed = 3
export const again = 1

/** Claims of fewer tasks are written to rows. */
export const smallClaim = 16

interface Row {
  readonly sequence: string | null
  readonly identifier: string
  readonly input: string
  readonly attempt?: number
  readonly lo?: string
  readonly status?: string | null
}

export class Tiles {
  readonly #texts
  readonly topic: string

  constructor(form: Form, topic = 't') {
    this.topic = topic
    this.#texts = {
      push: pushStatement(form),
      completeAll: completeAll(form),
      handBack: handBack(form),
      expire: expire(form),
      merge: merge(form),
    }
  }

  static async create(client: ClientBase, form: Form): Promise<void> {
    await client.query(`${schema(form.record)} ${cutFunction(form)} ${smallFunction(form)} ${leaveFunction(form)}`)
  }

  async push(client: ClientBase, identifiers: readonly string[], input = ''): Promise<number[]> {
    const { rows } = await run(client, 'push', this.#texts.push, [this.topic, identifiers, identifiers.map(() => input)])
    return rows.map(({ sequence }) => Number(sequence))
  }

  async beat(client: ClientBase, owner: string): Promise<void> {
    await client.query(
      'insert into task_owner (owner) values ($1) on conflict (owner) do update set heartbeat = statement_timestamp()',
      [owner],
    )
  }

  /** Listed rows first; then late ones; then fresh ones. `wait`: wait for the one who cuts. */
  async poll(client: ClientBase, owner: string, size: number, { wait = false, small = smallClaim } = {}): Promise<Poll> {
    const take = (minds: boolean): Promise<Poll> =>
      size < small ? this.claimSmall(client, owner, size, wait, minds) : this.cut(client, owner, size, wait, minds)
    const poll = await take(true)
    if (poll.status !== 'listed') return poll
    const { rows } = await run(client, 'listed', claimListed, [this.topic, owner, size])
    // Others may have locked all that are listed.
    return rows.length > 0 ? rowsOf(owner, rows) : take(false)
  }

  async claimSmall(client: ClientBase, owner: string, size: number, wait = false, minds = false): Promise<Poll> {
    const values = [this.topic, owner, size, minds, wait]
    const { rows } = await run(client, 'small', 'select * from tile_small($1, $2, $3, $4, $5)', values)
    const taken = rows.filter(({ sequence }) => sequence !== null)
    return { ...rowsOf(owner, taken), ...(taken.length === 0 && rows[0]?.status ? { status: rows[0].status } : {}) }
  }

  async cut(client: ClientBase, owner: string, size: number, wait = false, minds = false): Promise<Poll> {
    const token = randomInt(2 ** 48 - 1)
    const { rows } = await run(client, 'cut', 'select * from tile_cut($1, $2, $3, $4, $5, $6, false)', [
      this.topic,
      owner,
      size,
      token,
      minds,
      wait,
    ])
    const tiles = new Map<number, Polled[]>()
    const long = rows.filter(({ status }) => status === 'fetch').map(({ lo }) => lo)
    const tasks = long.length > 0 ? (await run(client, 'fetch', fetchTasks, [this.topic, long, token])).rows : rows
    for (const row of tasks) {
      if (row.sequence === null) return { owner, token, leases: [], tasks: [], status: row.status! }
      const beside = tiles.get(Number(row.lo))
      const task = toPolled(row)
      if (beside) beside.push(task)
      else tiles.set(Number(row.lo), [task])
    }
    const leases = [...tiles].map(([lo, tasks]) => ({ lo, tasks: tasks.sort((a, b) => a.sequence - b.sequence) }))
    return { owner, token, leases, tasks: leases.flatMap(({ tasks }) => tasks) }
  }

  /** @returns the sequences whose decision holds; the others were lost */
  async complete(client: ClientBase, { owner, token, leases }: Poll, decisions: Decisions): Promise<Set<number>> {
    const won = new Set<number>()
    const decided = leases.map((lease) => ({ lease, tasks: lease.tasks.filter(({ sequence }) => decisions.has(sequence)) }))
    const whole = decided.filter(({ lease, tasks }) => lease.lo !== undefined && tasks.length === lease.tasks.length)
    const ended = await this.#completeWhole(client, token, whole, decisions)
    for (const { lease, tasks } of decided) {
      if (lease.lo !== undefined && ended.has(lease.lo)) for (const { sequence } of tasks) won.add(sequence)
      else if (tasks.length > 0) {
        const sequences = tasks.map(({ sequence }) => sequence)
        const states = sequences.map((sequence) => decisions.get(sequence))
        const { rows } =
          lease.lo === undefined
            ? await run(client, 'rows', completeRows, [this.topic, owner, sequences, tasks.map(({ attempt }) => attempt), states])
            : await run(client, 'some', completeSome, [this.topic, lease.lo, token, sequences, states])
        for (const { sequence } of rows) won.add(Number(sequence))
      }
    }
    return won
  }

  async #completeWhole(
    client: ClientBase,
    token: number,
    whole: readonly { readonly lease: Lease }[],
    decisions: Decisions,
  ): Promise<Set<number>> {
    if (whole.length === 0) return new Set()
    const tasks = whole.flatMap(({ lease }) => lease.tasks)
    const others = tasks.map(({ sequence }) => sequence).filter((sequence) => decisions.get(sequence) !== succeeded)
    const { rows } = await run(client, 'complete', this.#texts.completeAll, [
      this.topic,
      whole.map(({ lease }) => lease.lo),
      whole.map(({ lease }) => lease.tasks.length),
      token,
      others,
      others.map((sequence) => decisions.get(sequence)),
    ])
    return new Set(rows.map(({ lo }) => Number(lo)))
  }

  /** @returns the sequences that are held, locked until the transaction ends */
  async hold(client: ClientBase, { owner, token, leases }: Poll): Promise<Set<number>> {
    const held = new Set<number>()
    const ranges = new Map(leases.flatMap((lease) => (lease.lo === undefined ? [] : [[lease.lo, lease] as const])))
    const found = await client.query<{ lo: string; n: number }>(hold, [this.topic, [...ranges.keys()], token])
    for (const { lo, n } of found.rows) {
      const { tasks } = ranges.get(Number(lo))!
      const sequences =
        n === tasks.length
          ? tasks.map(({ sequence }) => sequence)
          : (await client.query<{ sequence: string }>(stillThere, [this.topic, lo])).rows.map(({ sequence }) => Number(sequence))
      for (const sequence of sequences) held.add(sequence)
    }
    const rows = leases.filter(({ lo }) => lo === undefined).flatMap(({ tasks }) => tasks)
    if (rows.length === 0) return held
    const sequences = rows.map(({ sequence }) => sequence)
    const locked = await run(client, 'holdRows', holdRows, [this.topic, owner, sequences, rows.map(({ attempt }) => attempt)])
    for (const { sequence } of locked.rows) held.add(Number(sequence))
    return held
  }

  async handBack(client: ClientBase, poll: Poll): Promise<void> {
    const ranges = poll.leases.flatMap(({ lo }) => (lo === undefined ? [] : [lo]))
    if (ranges.length > 0) await run(client, 'handBack', this.#texts.handBack, [this.topic, ranges, poll.token])
    const rows = poll.leases.filter(({ lo }) => lo === undefined)
    if (rows.length === 0) return
    await this.complete(
      client,
      { ...poll, leases: rows },
      new Map(rows.flatMap(({ tasks }) => tasks.map((task) => [task.sequence, again]))),
    )
  }

  /** @returns how many ranges and rows of dead owners came back */
  async expire(client: ClientBase, deadMs: number): Promise<number> {
    const ranges = await run(client, 'expire', this.#texts.expire, [this.topic, deadMs])
    const rows = await run(client, 'expireRows', expireRows, [this.topic, deadMs])
    return (ranges.rowCount ?? 0) + (rows.rowCount ?? 0)
  }

  /** @returns how many tasks now have a state of their own that had none */
  async leave(client: ClientBase, sequences: readonly number[]): Promise<number> {
    const { rows } = await client.query<{ left: number }>('select tile_leave($1, $2) as left', [this.topic, sequences])
    return rows[0]!.left
  }

  /** Deletes the tasks of the done range, or of the done rows, that the number is in. @returns how many */
  async purge(client: ClientBase, sequence: number): Promise<number> {
    const { rows } = await client.query<{ purged: number }>(purge, [this.topic, sequence])
    return rows[0]!.purged
  }

  /** Merges a portion of the ranges from `from` on. @returns how many are fewer, and where to go on; undefined at the end */
  async merge(
    client: ClientBase,
    from = 0,
    portion = 200,
  ): Promise<{ readonly fewer: number; readonly next: number | undefined }> {
    const { rows } = await client.query<{ fewer: number; last: string | null; looked: number }>(this.#texts.merge, [
      this.topic,
      portion,
      from,
    ])
    const { fewer, last, looked } = rows[0]!
    return { fewer, next: looked === portion ? Number(last) : undefined }
  }
}

function run(client: ClientBase, name: string, text: string, values: unknown[]) {
  return client.query<Row>({ name, text, values })
}

function rowsOf(owner: string, rows: readonly Row[]): Poll {
  const tasks = rows.map(toPolled).sort((a, b) => a.sequence - b.sequence)
  return { owner, token: 0, tasks, leases: tasks.length > 0 ? [{ tasks }] : [] }
}

/** A range is leased once, so that its tasks are at their first attempt. */
function toPolled({ sequence, identifier, input, attempt = 1 }: Row): Polled {
  return { sequence: Number(sequence), identifier, input, attempt }
}
