/** Looks for tasks that meet a filter. No index answers every filter in the order of sequences, so a look is bounded, and another one goes on. */
import type { PageOptions, TaskInfo } from '@taskstream/task-api'
import type { AnyTransaction } from '../core/context.ts'
import type { Asked } from './route.ts'

/** One look looks through so many sequences, ... */
const mostSought = 20_000
/** ... and, in milliseconds, takes hardly longer than that. The steps grow, so that a filter that finds enough is soon done. */
const mostMs = 20
const firstStep = 1_000
const mostGrowth = 4

interface Sought {
  readonly tasks: readonly TaskInfo[]
  /** The sequence from which another look goes on. Undefined if there is nothing further. */
  readonly edge?: number
  /** How many sequences were looked through. Undefined if there was no filter. */
  readonly sought?: number
}

interface Seeking {
  readonly filter: PageOptions
  readonly size: number
  /** Ascending, from there. Default: descending, from `before` or the latest. */
  readonly after: number | undefined
  readonly before: number | undefined
}

export async function seek(
  { tasks }: Asked,
  transaction: AnyTransaction,
  topic: string,
  { filter, size, after, before }: Seeking,
): Promise<Sought> {
  const page = async (options: PageOptions): Promise<readonly TaskInfo[]> => tasks.page(transaction, topic, options)
  const latestFrom = before ?? Number.MAX_SAFE_INTEGER
  if (Object.keys(filter).length === 0)
    return { tasks: await page({ size, ...(after === undefined ? { before: latestFrom } : { after }) }) }
  const [latest] = await page({ before: latestFrom, size: 1 })
  if (!latest) return { tasks: [], sought: 0 }
  const until = performance.now() + mostMs
  const isOver = (at: number): boolean => (after === undefined ? at <= 1 : at >= latest.sequence)
  const found: TaskInfo[] = []
  let at = after ?? latest.sequence + 1
  let sought = 0
  for (let step = firstStep; !isOver(at) && found.length < size; step = Math.min(step * mostGrowth, mostSought - sought)) {
    const end = after === undefined ? Math.max(1, at - step) : at + step
    const bounds = after === undefined ? { before: at, from: end } : { after: at, to: end }
    found.push(...(await page({ ...filter, ...bounds, size: size - found.length })))
    at = end
    sought += step
    if (sought >= mostSought || performance.now() > until) break
  }
  return { tasks: found, sought, ...(!isOver(at) && { edge: at }) }
}
