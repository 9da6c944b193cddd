/** Finds the tasks that meet a filter, portion by portion, for verbs that take sequences. */
import type { TaskFilter, TaskInfo } from '@taskstream/task-api'
import type { NamedDatabase } from './database.ts'
import type { Portion } from './portions.ts'

/** Whole tasks are read, with their input, so a portion is smaller than that of verbs that take a filter. */
export const matchingPortion = 250

/**
 * Makes the next portions of a bulk write: the sequences that meet the filter are read and written in one transaction.
 *
 * @param write writes tasks that met the filter a moment ago, and says how many it wrote
 */
export function matchingPortions(
  { transactions, tasks }: NamedDatabase,
  topic: string,
  filter: TaskFilter,
  write: (transaction: unknown, sequences: readonly number[]) => Promise<number>,
): { readonly next: (size: number) => Promise<Portion>; readonly last: () => number | undefined } {
  let last: number | undefined
  const next = async (size: number): Promise<Portion> => {
    const { sequences, count } = await transactions(async (transaction) => {
      const page = (await tasks.page(transaction, topic, {
        ...filter,
        ...(last !== undefined && { after: last }),
        size,
      })) as TaskInfo[]
      const found = page.map(({ sequence }) => sequence)
      return { sequences: found, count: found.length === 0 ? 0 : await write(transaction, found) }
    })
    last = sequences.at(-1) ?? last
    return { count, hasMore: sequences.length === size }
  }
  return { next, last: () => last }
}
