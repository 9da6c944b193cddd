/** Who is measured, and how each is set up. A run prints it below its table. */

export const unlogged = 'BullMQ, no AOF'
export const logged = 'BullMQ, AOF'

export function isRedis(subject: string): boolean {
  return subject.startsWith('BullMQ')
}

/** BullMQ counts as no peer, because it promises less: its jobs are in another system than the caller's data. */
export function isPeer(subject: string): boolean {
  return subject !== 'taskstream' && subject !== 'limit' && !isRedis(subject)
}

export const about: Readonly<Record<string, string>> = {
  taskstream: 'batches of 1000 and the default two at a time; effects of handlers that write are in the completing transaction',
  'pg-boss':
    'two loops of fetch and complete with batches of 1000, named statements in pushes, upkeep off; effects of handlers that write are in the completing transaction',
  'graphile-worker':
    '24 jobs at a time, a local queue of 500, completions in batches, named statements (in pushes too), no log of successes; effects of handlers that write are committed before the completion',
  [unlogged]:
    "not in the caller's transaction: a push is not committed with the caller's data. Nothing is on disk. Counts as no peer",
  [logged]: "the same, with Redis' append-only file, flushed each second. Counts as no peer",
  limit: 'a plain table with a primary key: what the server does at most',
}
