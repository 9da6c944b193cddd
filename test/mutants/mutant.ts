/** One change of a source that a test should notice. */
export interface Mutant {
  /** From 1, in the order of the sources. */
  readonly id: number
  /** Relative to the repository. */
  readonly file: string
  readonly line: number
  /** The same as long as its line is, whatever comes before it. */
  readonly key: string
  readonly operator: string
  /** What is replaced, and by what: a piece of the source, for people and for marks. */
  readonly start: number
  readonly end: number
  readonly replacement: string
  /** The reason that a mark in the source gives why no test can notice. */
  equivalent?: string
}

/** A mutant as an operator finds it. */
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
  // The same change of the same line may be there several times.
  return `${key} | ${others.filter((other) => other.key.startsWith(key)).length}`
}
