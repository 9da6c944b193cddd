/** What the values of one statement have in common. A statement that names a common value once, and keys by their range, costs less than a table of values. */
import type { HeldRequest, RowColumn } from '../../core/requests.ts'
import { attemptOf } from '../../core/lease.ts'
import type { SqlValue } from '../../core/statement.ts'

/** The parts of a request in which its tasks are alike. */
export interface Alike {
  readonly sequences: readonly number[]
  /** The attempt of every task. */
  readonly attempt: number
  /** The value of each column, which is the same for every task. */
  readonly values: ReadonlyMap<string, SqlValue>
}

/** Whether the tasks of a request differ in their sequences only. @returns what they have in common; undefined if they differ in more */
export function alike({ tasks, columns }: HeldRequest): Alike | undefined {
  const sequences: number[] = []
  const attempt = attemptOf(tasks[0]!)
  for (const task of tasks) {
    if (attemptOf(task) !== attempt) return undefined
    sequences.push(task.sequence)
  }
  const values = new Map<string, SqlValue>()
  for (const column of columns) {
    if (!isSame(column)) return undefined
    values.set(column.name, column.values[0] ?? null)
  }
  return { sequences, attempt, values }
}

function isSame({ values }: RowColumn): boolean {
  return values.every((value) => value === values[0])
}

/** The first and the last of these sequences if no number between them is missing. They are all different, in any order. */
export function rangeOf(sequences: readonly number[]): { readonly first: number; readonly last: number } | undefined {
  let first = Infinity
  let last = -Infinity
  for (const sequence of sequences) {
    if (sequence < first) first = sequence
    if (sequence > last) last = sequence
  }
  return last - first === sequences.length - 1 ? { first, last } : undefined
}
