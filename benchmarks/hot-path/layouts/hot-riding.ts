/** C: no index mentions STATE, and the floor rides on the polls: no tick, no unsafe hint, nothing guessed from time. */
import type { ClientBase } from 'pg'
import type { Claim, Layout, Poller } from './layout.ts'
import { createTables, sequencesOf } from './layout.ts'
import type { Guards } from './hot-riding-sql.ts'
import { allGuards, expireText, forgetText, persistText, pollStatement } from './hot-riding-sql.ts'
import { complete, completeStatement, pushStatement, resetStatement, run, sorted } from './statements.ts'
import type { Statement } from './statements.ts'

/** What a cold poll may have to walk over, and how rarely the topic's row is written. */
const persistEvery = 8192

interface Pair {
  readonly mark: string
  readonly bound: number
}

interface Tail {
  readonly mark: string | null
  readonly bound: number
  readonly epoch: string
  readonly persisted: number
  readonly floor: number | null
  readonly settled: boolean | null
}

/** What memory was when a poll was sent: an answer may find it changed by another connection's. */
interface Asked {
  readonly epoch: string
  readonly settled: Pair | undefined
  readonly pending: Pair | undefined
}

interface Statements {
  readonly poll: Statement
  readonly persist: Statement
}

class RidingPoller implements Poller {
  readonly #topic: string
  readonly #statements: Statements
  #epoch = ''
  #floor = 0
  /** Transactions up to `bound` have ended; kept, because a later snapshot must prove it again. */
  #settled: Pair | undefined
  #pending: Pair | undefined
  #next: Pair | undefined

  constructor(topic: string, statements: Statements) {
    this.#topic = topic
    this.#statements = statements
  }

  async poll(client: ClientBase, size: number, owner: string): Promise<Claim[]> {
    const asked = { epoch: this.#epoch, settled: this.#settled, pending: this.#pending }
    const { rows } = await run<Claim | { sequence: null; input: string }>(client, this.#statements.poll, [
      this.#topic,
      size,
      owner,
      this.#floor,
      this.#epoch,
      ...valuesOf(asked.settled),
      ...valuesOf(asked.pending),
    ])
    const claims: Claim[] = []
    for (const row of rows) {
      if (row.sequence !== null) claims.push(row)
      else await this.#learn(client, JSON.parse(row.input) as Tail, asked)
    }
    return sorted(claims)
  }

  async #learn(client: ClientBase, tail: Tail, asked: Asked): Promise<void> {
    // Another connection may have met the new epoch first, and an answer from the old one must not come after it.
    if (tail.epoch !== this.#epoch && asked.epoch === this.#epoch) this.#forget(tail.epoch)
    if (tail.epoch !== this.#epoch) return
    if (tail.floor !== null) this.#floor = Math.max(this.#floor, tail.floor)
    if (tail.settled && asked.pending && asked.pending === this.#pending) {
      this.#settled = asked.pending
      this.#pending = this.#next
      this.#next = undefined
    }
    if (tail.mark !== null && tail.bound > (this.#settled?.bound ?? 0)) {
      const pair = { mark: tail.mark, bound: tail.bound }
      if (this.#pending) this.#next = pair
      else this.#pending = pair
    }
    if (this.#floor > tail.persisted + persistEvery) await run(client, this.#statements.persist, [this.#topic, this.#floor])
  }

  #forget(epoch: string): void {
    this.#epoch = epoch
    this.#floor = 0
    this.#settled = this.#pending = this.#next = undefined
  }
}

function valuesOf(pair: Pair | undefined): [string | null, number | null] {
  return [pair?.mark ?? null, pair?.bound ?? null]
}

export interface RidingOptions {
  readonly name: string
  readonly note: string
  readonly fillfactor?: number
  readonly columns?: 'all' | 'minimal'
  readonly guards?: Partial<Guards>
}

export function riding(options: RidingOptions): Layout {
  const { name, note, fillfactor = 28, columns = 'all' } = options
  const guards = { ...allGuards, ...options.guards }
  const push = pushStatement(name, { xidFirst: guards.xidFirst })
  const completion = completeStatement(name, { unlist: true, fenced: guards.fenced })
  const reset = resetStatement(name, { list: guards.lists })
  const expire = { name: `${name} expire`, text: expireText(guards) }
  const forget = { name: `${name} forget`, text: forgetText }
  const forgetEarly = { name: `${name} forget early`, text: 'delete from task_holding where topic = $1 and owner = $2' }
  const statements = { poll: pollStatement(name, guards, columns), persist: { name: `${name} persist`, text: persistText } }
  return {
    name,
    note,
    schema: [
      ...createTables({ fillfactor, columns }),
      'create index task_listed on task (topic, sequence) where listed',
      `create table task_holding (chunk bigint not null, topic varchar(250) collate "C" not null, owner varchar(250) collate "C" not null)`,
      'create index task_holding_owner on task_holding (topic, owner, chunk)',
    ],
    push: async (client, topic, identifiers, inputs) => sequencesOf(await run(client, push, [topic, identifiers, inputs])),
    createPoller: (topic) => new RidingPoller(topic, statements),
    complete: (client, topic, owner, completions) => complete(client, completion, topic, owner, completions),
    reset: async (client, topic, sequences) => sequencesOf(await run(client, reset, [topic, sequences])),
    expire: async (client, topic, owner) => {
      const sequences = sequencesOf(await run<{ sequence: number }>(client, expire, [topic, owner]))
      if (guards.ledger === 'forgotten early') await run(client, forgetEarly, [topic, owner])
      return sequences
    },
    maintain: async (client, topic) => void (await run(client, forget, [topic])),
  }
}

export const hotRiding = riding({ name: 'hot-riding', note: 'primary key only, the floor rides on the polls, fillfactor 28' })
