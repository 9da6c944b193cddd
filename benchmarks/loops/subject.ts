/** What is measured on one engine, and how one measurement is made. */

/** A backlog in a database of its own, which is pushed and then worked off. */
export interface Backlog extends AsyncDisposable {
  push(count: number): Promise<void>
  /** Completes all tasks of the backlog, `size` at a time. */
  drain(count: number, size: number): Promise<void>
}

export interface Engine extends AsyncDisposable {
  readonly name: string
  /** The process of the server; undefined if the engine runs in this process. */
  readonly pid?: number
  /** Opens an empty backlog. The first subject is taskstream. */
  readonly subjects: Readonly<Record<string, () => Promise<Backlog>>>
}

/** How many tasks each push has. */
export const pushed = 1000

/** The identifiers and the input of the tasks from this number on, as every subject pushes them. */
export function identifiersFrom(from: number): string[] {
  return Array.from({ length: pushed }, (_, index) => `customer ${from + index}`)
}
