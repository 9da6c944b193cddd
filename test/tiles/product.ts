/** The product's topics that keep outcomes, as the hammer calls the tile form. */
import { isTaskError, TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, postgres } from '@taskstream/task-sql/pg'
import type { PgClient } from '@taskstream/task-sql/pg'
import type { ClientBase } from 'pg'
import type { Decisions, Poll, Polled } from './tiles.ts'
import { again, failed, Tiles } from './tiles.ts'

type Repository = SqlTaskRepository<PgClient>
interface Held extends Polled {
  readonly held: HeldTask
}

const decisionOf = (state: number): TaskDecision =>
  state === again
    ? TaskDecision.retry({ afterMs: 0 }, 'again')
    : state === failed
      ? TaskDecision.failure('no')
      : TaskDecision.success()

export class Product extends Tiles {
  readonly #repositories = new Map<string, Repository>()

  constructor() {
    super({ record: 'outcomes' })
  }

  #of(owner = 'nobody'): Repository {
    const known = this.#repositories.get(owner)
    if (known) return known
    const made = sqlTaskRepository({ dialect: postgres(), adapter: fromPg, owner })
    this.#repositories.set(owner, made)
    return made
  }

  static override async create(client: ClientBase): Promise<void> {
    const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
    await tasks.migrate(async (work: (client: PgClient) => unknown) => {
      await client.query('begin')
      const result = await work(client as unknown as PgClient)
      await client.query('commit')
      return result as never
    })
    await tasks.initialize(client as unknown as PgClient, 't', { record: 'outcomes' })
  }

  override async push(client: ClientBase, identifiers: readonly string[]): Promise<number[]> {
    const pushed = await this.#of().push(client as unknown as PgClient, 't', [...identifiers])
    return pushed.map(({ sequence }) => sequence)
  }

  override async beat(client: ClientBase, owner: string): Promise<void> {
    try {
      await this.#of(owner).heartbeat(client as unknown as PgClient)
    } catch (error) {
      if (!isTaskError(error, 'OWNER_UNKNOWN')) throw error
      await this.#of(owner).register(client as unknown as PgClient)
    }
  }

  override async poll(client: ClientBase, owner: string, size: number): Promise<Poll> {
    let polled: HeldTask[]
    try {
      polled = await this.#of(owner).poll(client as unknown as PgClient, 't', { size })
    } catch (error) {
      if (!isTaskError(error, 'OWNER_UNKNOWN')) throw error
      return { owner, token: 0, leases: [], tasks: [] }
    }
    const tasks = polled.map((held): Held => ({
      sequence: held.sequence,
      identifier: held.identifier,
      input: '',
      attempt: held.attempt,
      held,
    }))
    return { owner, token: 0, leases: [{ tasks }], tasks }
  }

  override async complete(client: ClientBase, { owner, tasks }: Poll, decisions: Decisions): Promise<Set<number>> {
    const asked = (tasks as readonly Held[]).filter(({ sequence }) => decisions.has(sequence))
    const { completed } = await this.#of(owner).complete(
      client as unknown as PgClient,
      't',
      new Map(asked.map(({ held, sequence }) => [held, decisionOf(decisions.get(sequence)!)])),
    )
    return new Set(completed.map(({ sequence }) => sequence))
  }

  override async hold(client: ClientBase, { owner, tasks }: Poll): Promise<Set<number>> {
    const { held } = await this.#of(owner).hold(
      client as unknown as PgClient,
      't',
      (tasks as readonly Held[]).map((task) => task.held),
    )
    return new Set(held.map(({ sequence }) => sequence))
  }

  override async handBack(client: ClientBase, { owner, tasks }: Poll): Promise<void> {
    await this.#of(owner).handBack(
      client as unknown as PgClient,
      't',
      (tasks as readonly Held[]).map((task) => task.held),
    )
  }

  override async expire(client: ClientBase, deadMs: number): Promise<number> {
    const tasks = this.#of('keeper')
    await client.query('begin')
    const { ready, failed: gone } = await tasks.expire(client as unknown as PgClient, { olderThanMs: deadMs, then: 'ready' })
    await client.query('commit')
    const { promoted } = await tasks.promoteDue(client as unknown as PgClient, 't')
    return ready + gone + promoted
  }

  override async leave(client: ClientBase): Promise<number> {
    await this.#of().verb(function* ({ dialect }) {
      yield* dialect.ranges!.lockFresh('t')
    })(client as unknown as PgClient)
    return 0
  }

  override async purge(client: ClientBase, sequence: number): Promise<number> {
    return this.#of().purge(client as unknown as PgClient, 't', {
      from: sequence,
      to: sequence + 2_000,
      limit: 300,
      states: ['succeeded', 'failed', 'filtered', 'recreated'],
    })
  }

  override merge(): Promise<{ readonly fewer: number; readonly next: number | undefined }> {
    return Promise.resolve({ fewer: 0, next: undefined })
  }
}

export const productChecks: readonly { readonly name: string; readonly query: string }[] = [
  {
    name: 'ranges that do not begin behind the one before',
    query: `select count(*)::int as c, min(format('%s..%s state %s after %s', lo, hi, state, before)) as first from (
              select *, coalesce(lag(hi) over (order by lo), -1) as before from task_range where topic = $1) r where lo <> before + 1 or hi < lo`,
  },
  {
    name: 'ready rows that nobody would find',
    query: `select count(*)::int as c, min(format('%s %s', t.sequence, t.identifier)) as first from task t
             where topic = $1 and state = 1 and not listed and sequence <= coalesce((select max(hi) from task_range where topic = $1), 0)
               and not exists (select from task_range r where r.topic = $1 and r.state in (0, 9) and t.sequence between r.lo and r.hi)`,
  },
]
