import { invalid } from '@taskstream/task-api'

/**
 * Checks what stands beside the order `shared`, in which keys take turns: there are keys, and no other rule for what has the same key.
 *
 * @param others whether these options are given
 * @throws TaskError ARGUMENT_INVALID
 */
export function checkShared(
  of: string,
  { keyed, ...others }: { readonly keyed: boolean } & Readonly<Record<string, boolean>>,
): void {
  if (!keyed) throw invalid('order', 'shared', `${of} needs keys, which take turns`)
  for (const [option, given] of Object.entries(others))
    if (given) throw invalid('order', 'shared', `${of} must not be given with ${option}: there the keys share anyway`)
}
