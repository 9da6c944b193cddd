/** What the rounds of a measurement say together. */

/** The value below which a share of the values lies, between neighbours in proportion. NaN if there are none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  const at = share * (sorted.length - 1)
  const below = sorted[Math.floor(at)] ?? Number.NaN
  const above = sorted[Math.ceil(at)] ?? below
  return below + (above - below) * (at - Math.floor(at))
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The interquartile range relative to the median: how far apart the middle half of the rounds is. Null for a single round. */
export function spread(values: readonly number[]): number | null {
  if (values.length < 2) return null
  return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values)
}
