/** One change of a source, which a test should notice. */
export interface Mutant {
  /** Numbered from 1 in the order of the sources. */
  readonly id: number
  /** The path relative to the repository. */
  readonly file: string
  readonly line: number
  /** An identifier that stays the same as long as the mutant's line does, whatever stands before the line. */
  readonly key: string
  readonly operator: string
  /** The replaced piece of the source and its replacement, for people and for marks. */
  readonly start: number
  readonly end: number
  readonly replacement: string
  /** The reason, from a mark in the source, why no test can notice the change. */
  equivalent?: string
}

/** A change as an operator finds it. */
export interface Change {
  readonly operator: string
  readonly start: number
  readonly end: number
  readonly replacement: string
}

export function lineOf(source: string, position: number): number {
  return source.slice(0, position).split('\n').length
}

export function keyOf(file: string, source: string, { operator, start, replacement }: Change, others: readonly Mutant[]): string {
  const from = source.lastIndexOf('\n', start - 1) + 1
  const end = source.indexOf('\n', from)
  const line = source.slice(from, end < 0 ? source.length : end)
  const key = [file, operator, line.trim(), start - from - (line.length - line.trimStart().length), replacement].join(' | ')
  // One line may have the same change several times.
  return `${key} | ${others.filter((other) => other.key.startsWith(key)).length}`
}
