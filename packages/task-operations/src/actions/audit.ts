/** What people have done, an entry for each action however many portions it had. */
import type { RecordedAction } from '@taskstream/task-api'
import { readingOf } from './operator.ts'
import type { Operator } from './operator.ts'

/** An action of which all portions are one entry. */
export interface AuditEntry extends Omit<RecordedAction, 'sequences' | 'former'> {
  /** How many transactions it had. */
  readonly portions: number
  /** Whether it was undone: all portions, some, or none. What has become of the tasks is in the entry of the undo. */
  readonly undone: 'yes' | 'partly' | 'no'
}

export interface AuditOptions {
  readonly topic?: string
  /** Only actions of the last so many milliseconds. Default: all. */
  readonly withinMs?: number
  /** How many entries at most, 1 to 1000. Default 50. Of actions with very many portions there may be fewer. */
  readonly limit?: number
}

/** How many portions an entry has on average, where many are read. */
const portionsEach = 20

/**
 * What people have done, the latest first.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * for (const { id, action, count, undone } of await audit({ tasks, transactions })) console.log(id, action, count, undone)
 */
export async function audit(
  operator: Pick<Operator, 'tasks' | 'transactions' | 'reading'>,
  { topic, withinMs, limit = 50 }: AuditOptions = {},
): Promise<readonly AuditEntry[]> {
  const records = await readingOf(operator)<readonly RecordedAction[]>((transaction) =>
    operator.tasks.actions(transaction, {
      details: false,
      limit: Math.min(10_000, limit * portionsEach),
      ...(topic !== undefined && { topic }),
      ...(withinMs !== undefined && { withinMs }),
    }),
  )
  // What undoes an action was recorded after it, so it is among the records that were read.
  // An undo that came too late for each task has undone nothing.
  const undone = new Set(records.filter(({ count }) => count > 0).map(({ undoes }) => undoes))
  const groups = Map.groupBy(records, ({ id }) => actionOf(id))
  return [...groups].slice(0, limit).map(([id, portions]) => {
    const first = portions.at(-1)!
    const gone = portions.filter((portion) => undone.has(portion.id)).length
    return {
      ...first,
      id,
      ...(first.undoes !== undefined && { undoes: actionOf(first.undoes) }),
      count: portions.reduce((sum, { count }) => sum + count, 0),
      portions: portions.length,
      undone: gone === 0 ? 'no' : gone === portions.length ? 'yes' : 'partly',
    }
  })
}

/** The id of the action of which a record is a portion. */
function actionOf(id: string): string {
  return id.replace(/-\d+/, '')
}
