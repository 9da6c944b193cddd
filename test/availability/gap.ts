/**
 * The longest time without an event, among the times that overlap a window, in milliseconds. Events are at these moments, in any order. It reaches out of
 * the window on both sides, to the event before it and to the one after it.
 */
export function longestGap(moments: readonly number[], fromMs: number, toMs: number): number {
  const sorted = moments.toSorted((left, right) => left - right)
  let longest = 0
  for (const [index, next] of sorted.entries()) {
    const last = sorted[index - 1]
    if (last !== undefined && next >= fromMs && last <= toMs) longest = Math.max(longest, next - last)
  }
  return longest
}
