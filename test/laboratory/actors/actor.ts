/** What all processes of a run have in common: their orders, the database as they see it, their history, and how they end. */
import { existsSync, readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { TransactionSource } from '@taskstream/task-api'
import { pgTransactions } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { randomOf } from '../../interleavings/random.ts'
import { mutated } from '../../hammer/mutants.ts'
import { reopenSubject } from '../../subject.ts'
import type { AnyTransaction, Subject, Tasks } from '../../subject.ts'
import { fences } from '../fences.ts'
import { HistoryFile } from '../history-file.ts'
import type { Message, Orders } from '../setting.ts'

export interface Actor {
  readonly orders: Orders
  readonly random: () => number
  readonly history: HistoryFile
  readonly subject: Subject
  readonly transactions: TransactionSource<AnyTransaction>
  /** A repository with an owner of its own. */
  tasks(): Tasks
}

const poolSize = 10
const openFiles = '/proc/self/fd'

/** @param begin starts the work. `rest` ends pushing; `stop` ends all work, and is called once. */
export async function beActor(
  begin: (actor: Actor) => Promise<{ readonly owner?: string; rest?(): Promise<void>; stop(): Promise<void> }>,
): Promise<void> {
  const orders = JSON.parse(process.argv[2] ?? '{}') as Orders
  // The process must not outlive its laboratory.
  process.on('disconnect', () => process.exit())
  // A limit on the size of files is a fault, and by default a signal that kills.
  process.on('SIGXFSZ', () => {})
  const history = new HistoryFile(orders.historyFile, orders.actor)
  const subject = await reopenSubject(orders.location)
  const pool = subject.engine === 'postgres' ? openPool(orders) : undefined
  const transactions = pool ? (pgTransactions(pool) as TransactionSource<AnyTransaction>) : subject.transactions
  const mutant = fences.find(({ name, engines }) => name === orders.without && engines.includes(subject.engine))
  const actor: Actor = {
    orders,
    random: randomOf(orders.seed),
    history,
    subject,
    transactions,
    tasks: () => subject.tasks(mutant ? { adapt: (adapter) => mutated(adapter, mutant) } : {}),
  }
  const { owner, rest, stop } = await begin(actor)
  history.say({ verb: 'start', ...(owner !== undefined && { owner }) })
  process.on('message', (message: Message) => {
    if (message.tell === 'hoard') void hoard(actor, message.ms)
    else if (message.tell === 'rest') void rest?.().then(() => process.send?.({ done: 'rest' }))
    else if (message.tell === 'sample') sample()
    else void end()
  })
  process.send?.({ owner })

  function sample(): void {
    void globalThis.gc?.()
    const { heapUsed, external, rss } = process.memoryUsage()
    history.say({
      verb: 'sample',
      heapBytes: heapUsed + external,
      residentBytes: rss,
      handles: process.getActiveResourcesInfo().length,
      // Only Linux tells.
      files: existsSync(openFiles) ? readdirSync(openFiles).length : 0,
    })
    process.send?.({ done: 'sample' })
  }

  async function end(): Promise<void> {
    history.say({ verb: 'stop', phase: 'begun' })
    await stop()
    await pool?.end().catch(() => {})
    // A pool cannot be closed in order if the server has just ended one of its connections.
    await Promise.resolve(subject[Symbol.asyncDispose]()).catch(() => {})
    // Nothing may keep this process alive now. Whoever started it waits for its end, so that what does is found.
    process.disconnect()
  }
}

/** As a careful user opens it: no connection is waited for without a limit. */
function openPool({ location, actor }: Orders): pg.Pool {
  const pool = new pg.Pool({
    connectionString: location.at,
    max: poolSize,
    connectionTimeoutMillis: 2_000,
    application_name: `laboratory ${actor}`,
  })
  pool.on('error', () => {})
  return pool
}

/** SQLite has one connection: several transactions would hold it one after the other, and with it the lock of the file. */
async function hoard({ subject, transactions }: Actor, ms: number): Promise<void> {
  const connections = subject.writers === 1 ? 1 : poolSize
  await Promise.allSettled(Array.from({ length: connections }, () => transactions(() => delay(ms))))
}

/** The database is never away for so long. */
const mostTries = 400

/** Tries until it succeeds: a process may start while the database is away. */
export async function insist<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await attempt()
    } catch (error) {
      if (tries === mostTries) throw error
      await delay(50)
    }
  }
}
