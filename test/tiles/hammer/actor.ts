/** What every process of the hammer has: its orders, a random draw, and connections that come back after a crash of the server. */
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { randomOf } from '../../interleavings/random.ts'
import type { TaskRecord } from '../guards.ts'
import type { Connection } from '../scenarios/lab.ts'
import { Product } from '../product.ts'
import { Tiles } from '../tiles.ts'
import { Ledger } from './ledger.ts'

export interface Orders {
  readonly connection: Connection
  readonly folder: string
  readonly name: string
  readonly seed: number
  readonly record: TaskRecord
}

/** How long an owner may send no heartbeat before it is dead, in milliseconds. */
export const deadMs = 2_000

export class Actor {
  readonly orders = JSON.parse(process.argv[2]!) as Orders
  readonly random = randomOf(this.orders.seed)
  readonly ledger = new Ledger(this.orders.folder, this.orders.name)
  readonly tiles: Tiles = process.env['HAMMER_PRODUCT'] ? new Product() : new Tiles({ record: this.orders.record })
  isStopping = false

  constructor() {
    process.on('SIGTERM', () => (this.isStopping = true))
    // The one that started this process has ended.
    process.on('disconnect', () => process.exit())
  }

  chance(share: number): boolean {
    return this.random() < share
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + Math.floor(this.random() * (most - least + 1))
  }

  pick<T>(some: readonly T[]): T {
    return some[Math.floor(this.random() * some.length)]!
  }

  pause(least: number, most: number): Promise<unknown> {
    return setTimeout(this.between(least, most))
  }

  /** Does something on one connection again and again until this process is to stop. After an error the connection is made anew. */
  async repeat(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
    let client: pg.Client | undefined
    while (!this.isStopping) {
      try {
        client ??= await this.#connect()
        await work(client)
      } catch (error) {
        this.#tell(error)
        await client?.end().catch(() => {})
        client = undefined
        await setTimeout(50)
      }
    }
    await client?.end().catch(() => {})
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      ...this.orders.connection,
      connectionTimeoutMillis: 5_000,
      options: '-c search_path=taskstream,public',
    })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  /** An error of a connection is a crash of the server. Any other is told by its code. */
  #tell(error: unknown): void {
    const { code, message, detail, where } = error as { code?: string; message: string; detail?: string; where?: string }
    const isGone =
      /^(57P|08|ECONN|ENOENT|EPIPE|DATABASE_UNAVAILABLE)/.test(code ?? '') || /terminated|not queryable|timeout/i.test(message)
    this.ledger.say({
      k: 'count',
      what: isGone ? 'connection lost' : `error ${code ?? ''} ${message} ${detail ?? ''} ${where ?? ''}`,
      n: 1,
    })
  }
}

export async function inTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

/** Says, in the transaction itself, how many times tasks are to be completed because of it. */
export async function expect(client: pg.Client, identifiers: readonly string[], delta: number, why: string): Promise<void> {
  await client.query('insert into expected select i, $2, $3 from unnest($1::text[]) i', [identifiers, delta, why])
}
