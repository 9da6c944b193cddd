/** What is measured against each other: the product's rows, and both records of the tile form. Each pushes, polls and completes on one connection. */
import { readFileSync } from 'node:fs'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import pg from 'pg'
import type { Form } from '../guards.ts'
import type { Connection } from '../scenarios/lab.ts'
import type { Poll } from '../tiles.ts'
import { smallClaim, succeeded, Tiles } from '../tiles.ts'

const topic = 't'
/** 90 bytes, as when the design was measured. */
const input = JSON.stringify({ to: 'someone@example.org', subject: 'A letter', body: 'x'.repeat(30) })

/** One loop of a worker, on a connection of its own. */
export interface Loop {
  push(count: number): Promise<unknown>
  /** @returns how many tasks were polled; -1 if somebody else was cutting */
  poll(size: number): Promise<number>
  /** Completes what the last poll gave. */
  complete(): Promise<unknown>
  merge?(): Promise<unknown>
}

export interface Subject {
  readonly name: string
  prepare(connection: Connection): Promise<void>
  loop(client: pg.Client, owner: string, wait: boolean): Promise<Loop>
}

const success = TaskDecision.success()

const rows: Subject = {
  name: 'rows',
  async prepare(connection) {
    const pool = new pg.Pool({ ...connection, max: 1 })
    const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
    await tasks.migrate(pgTransactions(pool))
    await pgTransactions(pool)((transaction) => tasks.initialize(transaction, topic))
    await pool.end()
  },
  async loop(client, owner) {
    const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg, owner })
    await pgTransactions(new pg.Pool({ ...connectionOf(client), max: 1, idleTimeoutMillis: 1 }))((transaction) =>
      tasks.register(transaction),
    )
    let held: readonly HeldTask[] = []
    return {
      push: (count) =>
        tasks.push(
          client,
          topic,
          Array.from({ length: count }, (_, at) => ({ identifier: `customer ${at}`, input })),
        ),
      poll: async (size) => (held = await tasks.poll(client, topic, { size })).length,
      complete: async () => tasks.complete(client, topic, new Map(held.map((task) => [task, success]))),
    }
  },
}

function tile(name: string, form: Form, small = smallClaim, merges = true): Subject {
  const tiles = new Tiles(form)
  return {
    name,
    async prepare(connection) {
      const client = new pg.Client(connection)
      await client.connect()
      await Tiles.create(client, form)
      await client.end()
    },
    async loop(client, owner, wait) {
      // The product replaces plans when a table has grown (docs/decisions/plans.md). Here nothing does.
      await client.query('set enable_seqscan = off; set enable_bitmapscan = off')
      await tiles.beat(client, owner)
      let poll: Poll | undefined
      return {
        push: (count) =>
          tiles.push(
            client,
            Array.from({ length: count }, (_, at) => `customer ${at}`),
            input,
          ),
        poll: async (size) => {
          poll = await tiles.poll(client, owner, size, { wait, small })
          return poll.status ? -1 : poll.tasks.length
        },
        complete: () => tiles.complete(client, poll!, new Map(poll!.tasks.map(({ sequence }) => [sequence, succeeded]))),
        ...(merges ? { merge: () => mergeAll(tiles, client) } : {}),
      }
    },
  }
}

async function mergeAll(tiles: Tiles, client: pg.Client): Promise<void> {
  for (let from: number | undefined = 0; from !== undefined;) from = (await tiles.merge(client, from)).next
}

function connectionOf({ host, port, user, database }: pg.Client): Connection {
  return { host, port, user: user!, database: database! }
}

const outcomes = tile('outcomes', { record: 'outcomes' })
const exceptions = tile('exceptions', { record: 'exceptions' })
export const subjects: readonly Subject[] = [rows, outcomes, exceptions]
/** Singly, a claim may be written to rows or be a range of one. */
export const singleSubjects: readonly Subject[] = [
  rows,
  outcomes,
  exceptions,
  tile('outcomes, ranges of one', { record: 'outcomes' }, 0),
  tile('exceptions, ranges of one', { record: 'exceptions' }, 0),
  tile('exceptions, ranges of one, never merged', { record: 'exceptions' }, 0, false),
]

/** What the server's process of a connection has used: microseconds of CPU, bytes of WAL. */
export async function usedBy(client: pg.Client): Promise<{ readonly cpuUs: number; readonly wal: number }> {
  const pid = (client as unknown as { processID: number }).processID
  await client.query('select pg_stat_force_next_flush()')
  const { rows: found } = await client.query<{ wal: string }>('select wal_bytes as wal from pg_stat_get_backend_wal($1)', [pid])
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  // utime and stime, in hundredths of a second.
  return { cpuUs: (Number(fields[11]) + Number(fields[12])) * 10_000, wal: Number(found[0]?.wal ?? 0) }
}

export async function connect(connection: Connection): Promise<pg.Client> {
  const client = new pg.Client(connection)
  client.on('error', () => {})
  await client.connect()
  return client
}
