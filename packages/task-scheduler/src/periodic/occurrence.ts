/** What the tasks of a timer are known by. */
import { randomUUID } from 'node:crypto'
import type { Task } from '@taskstream/task-api'

/** Which timer a task was submitted for, and for which of its occurrences. */
export interface Occurrence {
  readonly scope: string
  readonly id: string
  readonly at: Date
}

/** The reference of every task of a timer: with the scope's length no two timers have the same. */
export function referenceOf(scope: string, id: string): string {
  return `timer:${scope.length}:${scope}/${id}`
}

/** Unique in a topic, by the database's own constraint: an occurrence is submitted once, whatever else goes wrong. */
export function externalIdOf(scope: string, id: string, occurrenceMs: number): string {
  return `${referenceOf(scope, id)}@${new Date(occurrenceMs).toISOString()}`
}

/** Beside those of the clock, in their order, and no occurrence: a timer may be run by hand as often as one likes. */
export function externalIdByHand(scope: string, id: string, nowMs: number): string {
  return `${externalIdOf(scope, id, nowMs)}/${randomUUID()}`
}

/**
 * For which occurrence of which timer a task was submitted; undefined for a task that the clock did not submit.
 *
 * @example
 * handler: eachTask((task) => report(occurrenceOf(task)?.at ?? new Date()))
 */
export function occurrenceOf(task: Task & { readonly externalId?: string }): Occurrence | undefined {
  const [, digits, rest] = task.externalId?.match(/^timer:(\d+):(.*)$/s) ?? []
  if (rest === undefined) return undefined
  const length = Number(digits)
  const [, id, instant] = /^\/(.*)@([^@]+)$/s.exec(rest.slice(length)) ?? []
  const at = new Date(instant!)
  return Number.isNaN(at.getTime()) ? undefined : { scope: rest.slice(0, length), id: id!, at }
}

/** A share of `jitterMs` that every node finds alike: FNV-1a, finished so that neighbouring instants lie far apart. */
export function jitterOf(scope: string, id: string, occurrenceMs: number, jitterMs: number): number {
  let hash = 0x811c9dc5
  for (const character of externalIdOf(scope, id, occurrenceMs)) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return ((hash ^ (hash >>> 13)) >>> 0) % (jitterMs + 1)
}
