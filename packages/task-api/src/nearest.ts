/**
 * Finds the word that differs least from `text`, ignoring case. At most two characters may be missing, added, replaced or swapped with their
 * neighbour. Undefined if every word differs more.
 */
export function nearest(text: string, words: Iterable<string>): string | undefined {
  const lower = text.toLowerCase()
  let found: string | undefined
  let least = Math.min(3, Math.ceil(lower.length / 2))
  for (const word of words) {
    // mutants: equivalent boundary condition:false, the result is the same and takes longer
    if (Math.abs(word.length - lower.length) >= least) continue
    const distance = distanceOf(lower, word.toLowerCase())
    if (distance < least) [found, least] = [word, distance]
  }
  return found
}

/** Optimal string alignment distance: how many characters to insert, delete, replace, or swap with the next one. */
function distanceOf(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      let distance = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (isSame ? 0 : 1))
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) distance = Math.min(distance, rows[i - 2]![j - 2]! + 1)
      row.push(distance)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
