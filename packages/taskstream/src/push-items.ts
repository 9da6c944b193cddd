import { invalid, listOf } from '@taskstream/task-api'

/** The items of a push of several jobs, each with its input and options. @throws TaskError ARGUMENT_INVALID */
export function itemsOf<Item extends readonly unknown[]>(
  job: { readonly name: string },
  items: readonly Item[],
): readonly Item[] {
  // Before they are looked at, as there may be too many.
  const list = Array.isArray(items) ? listOf('items', items) : []
  if (!Array.isArray(items) || !list.every(Array.isArray))
    throw invalid('items', items, `of the job "${job.name}" must be a list of lists, [[input, options], …]`)
  return list as readonly unknown[] as readonly Item[]
}
