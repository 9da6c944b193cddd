/** References and external ids of a timer's tasks. */
import { randomUUID } from 'node:crypto'
import type { Task } from '@taskstream/task-api'

/** The timer and the occurrence for which a task was submitted. */
export interface Occurrence {
  readonly scope: string
  readonly id: string
  readonly at: Date
}

/** Makes the reference of a timer's tasks. It contains the scope's length, so that no two timers have the same reference. */
export function referenceOf(scope: string, id: string): string {
  return `timer:${scope.length}:${scope}/${id}`
}

/** Makes the external id of an occurrence's task. External ids are unique in a topic, so an occurrence is submitted once, whatever goes wrong. */
export function externalIdOf(scope: string, id: string, occurrenceMs: number): string {
  return `${referenceOf(scope, id)}@${new Date(occurrenceMs).toISOString()}`
}

/** Makes the external id of a task that is submitted by hand. The id has a random part, as a timer may be run by hand any number of times. */
export function externalIdByHand(scope: string, id: string, nowMs: number): string {
  return `${externalIdOf(scope, id, nowMs)}/${randomUUID()}`
}

/**
 * Finds the timer and the occurrence for which a task was submitted. Returns undefined for a task that the clock did not submit.
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

/** Computes a delay of 0 to `jitterMs` that is the same on every node: FNV-1a, with a final mix so that neighbouring instants get distant delays. */
export function jitterOf(scope: string, id: string, occurrenceMs: number, jitterMs: number): number {
  let hash = 0x811c9dc5
  for (const character of externalIdOf(scope, id, occurrenceMs)) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return ((hash ^ (hash >>> 13)) >>> 0) % (jitterMs + 1)
}
