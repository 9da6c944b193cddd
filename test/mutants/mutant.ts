/** One change of a source that a test should notice. */
export interface Mutant {
  /** From 1, in the order of the sources. */
  readonly id: number
  /** Relative to the repository. */
  readonly file: string
  readonly line: number
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
