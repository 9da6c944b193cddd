/** What a drain process is asked to do, and what it tells. */
import type { Connection } from './database.ts'

export interface DrainOrder {
  readonly subject: 'taskstream' | 'pg-boss' | 'graphile-worker' | 'BullMQ'
  /** The database of the tasks, and of the rows that handlers write. */
  readonly connection: Connection
  /** The path of the socket of the Redis of BullMQ's jobs. */
  readonly redis?: string
  /** Number of topics or queues. Default 1. */
  readonly topics?: number
  /** Default: as the maintainers would set it for speed. `default`: nothing is set but connection and handler. */
  readonly settings?: 'fastest' | 'default'
  /** What the handler does. Default: nothing. */
  readonly does?: Doing
  /** Of taskstream. */
  readonly mode?: 'leased' | 'transactional'
  /** Tasks of a batch, where a subject has batches. Default 1000. */
  readonly size?: number
}

export type Doing =
  | 'nothing'
  /** Writes a row into the same database. */
  | 'write'
  /** Waits a millisecond, 24 at a time. */
  | 'wait'
  /** Fails a tenth of the tasks at their first try. They are tried again at once, and only successes are counted. */
  | 'fail once'
  /** Fails a tenth of the tasks for good. */
  | 'fail'

/** How many handlers that wait run at a time. */
export const atOnce = 24
export const waitMs = 1
export const failsEvery = 10

export const writtenTable = 'create table if not exists written (subject text not null, at timestamptz not null default now())'
export const writtenText = { name: 'written', text: 'insert into written (subject) values ($1)', values: ['A letter'] }

export interface Drain {
  /** Begins to handle tasks. */
  start(): Promise<unknown>
  /** Ends. What is still in hand may be lost. */
  stop(): Promise<unknown>
}

/** Opens a drain. `done` is called when the completion of so many tasks is stored, and for failed tasks when that is stored. */
export type OpenDrain = (order: DrainOrder, done: (tasks: number) => void) => Promise<Drain>

export function topicsOf({ topics = 1 }: Pick<DrainOrder, 'topics'>): string[] {
  return topics === 1 ? ['mail'] : Array.from({ length: topics }, (_, index) => `mail-${index}`)
}

/** Counts the calls of a handler, and says which of them fails. */
export function failing(): () => boolean {
  let calls = 0
  return () => calls++ % failsEvery === 0
}

/** Calls the work for each item, so many at a time. */
export async function sideBySide<Item>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < items.length) await work(items[next++]!)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane))
}
