import { TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import type { TaskManager } from './task-manager.ts'

/** A node needs one connection for polls and completions, which may take turns, and one for the heartbeat, which must never wait for them. */
const always = 2

/**
 * Checks that the pool has enough connections. In a small pool a heartbeat may wait for a transaction of the same node until the lease has run out.
 *
 * @throws TaskError POOL_TOO_SMALL with the number of connections that the node needs
 */
export function checkPoolSize<Transaction>(
  { connections }: TransactionSource<Transaction>,
  managers: Iterable<TaskManager<Transaction>>,
): void {
  if (connections === undefined) return
  const open = [...managers].filter(({ processing }) => processing.mode === 'transactional')
  const held = open.reduce((sum, { concurrency }) => sum + concurrency, 0)
  const needed = always + held
  if (connections >= needed) return
  const most = held === 0 ? '' : `${held} for batches in transactional mode (${open.map(({ topic }) => topic).join(', ')}), `
  throw new TaskError(
    'POOL_TOO_SMALL',
    `The pool has ${connections} connections, and the node needs ${needed}: ${most}one to poll and complete, and one for the heartbeat`,
    { found: connections, needed },
  )
}
