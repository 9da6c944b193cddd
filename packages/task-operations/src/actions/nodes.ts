/** Actions on processes: each is one transaction, together with its record. */
import { TaskError } from '@taskstream/task-api'
import type { NodeInfo } from '@taskstream/task-api'
import { byOf } from './operator.ts'
import type { Operator } from './operator.ts'
import type { Switched } from './switches.ts'

/** How a record names a process. */
export interface NodeNamed {
  readonly owner: string
}

/** For how long a process that is gone is still known. */
const knownMs = 7 * 86_400_000

/**
 * Asks a process to take no more tasks, or to take tasks again. It does so when it reports next.
 *
 * @param owner of a process that was seen in the last seven days
 * @throws TaskError OWNER_UNKNOWN, ARGUMENT_INVALID
 * @example
 * const { id } = await switchNode({ ...operator, note: 'is to be moved' }, 'worker-2:4711:0123456789ab', 'quiet')
 */
export async function switchNode(operator: Operator, owner: string, action: 'quiet' | 'resume'): Promise<Switched> {
  const { tasks, transactions } = operator
  return await transactions(async (transaction): Promise<Switched> => {
    const changed = await setQuiet(operator, transaction, owner, action === 'quiet')
    if (changed === undefined)
      throw new TaskError('OWNER_UNKNOWN', `There is no process ${owner}, or it was gone for a week: list them by nodes()`, {
        owner,
      })
    if (!changed) return { changed }
    const named = { owner } satisfies NodeNamed
    const of = { filter: named, former: named, ...byOf(operator) }
    const id: string = await tasks.record(transaction, { action: `node ${action}`, count: 0, ...of })
    return { id, changed }
  })
}

/** @returns whether it was otherwise before; undefined if there is no such process */
export async function setQuiet(
  { tasks }: Pick<Operator, 'tasks'>,
  transaction: unknown,
  owner: string,
  quiet: boolean,
): Promise<boolean | undefined> {
  const nodes = (await tasks.nodes(transaction, { withinMs: knownMs })) as readonly NodeInfo[]
  const node = nodes.find((each) => each.owner === owner)
  if (!node || !((await tasks.quiet(transaction, owner, quiet)) as boolean)) return undefined
  return node.quiet !== quiet
}
