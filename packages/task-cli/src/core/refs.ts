/** How tasks are named on the command line: `4711` or `@4711`, `ext:abc`, `id:inv-7`, or the identifier alone. */
import { invalid } from '@taskstream/task-api'
import type { TaskInfo, TaskReference, TaskSelector } from '@taskstream/task-api'
import type { NamedDatabase } from './database.ts'

export type Ref =
  | { readonly text: string; readonly sequence: number }
  | { readonly text: string; readonly externalId: string }
  | { readonly text: string; readonly identifier: string }

export const refHelp = '@4711, ext:<external id>, id:<identifier>, or the identifier alone'

/** @throws TaskError ARGUMENT_INVALID */
export function toRef(text: string): Ref {
  const sequence = /^@?(\d+)$/.exec(text)?.[1]
  if (sequence !== undefined) return { text, sequence: Number(sequence) }
  const [, kind, name] = /^(id|ext):(.+)$/s.exec(text) ?? []
  if (kind === 'ext') return { text, externalId: name! }
  if (kind === 'id') return { text, identifier: name! }
  if (text === '' || text.startsWith('@') || /^(id|ext):$/.test(text))
    throw invalid('task', text, `must be ${refHelp}; an identifier that begins with @ is written id:@…`)
  return { text, identifier: text }
}

/** What verbs take that change tasks: an identifier then means all of its tasks. */
export function toSelector(ref: Ref): TaskSelector {
  if ('sequence' in ref) return ref.sequence
  return 'externalId' in ref ? { externalId: ref.externalId } : { identifier: ref.identifier }
}

/** What verbs take that ask for one task. */
export function toReference(ref: Ref): TaskReference {
  if ('sequence' in ref) return ref.sequence
  return 'externalId' in ref ? { externalId: ref.externalId } : { identifier: ref.identifier }
}

/**
 * Finds the task that a reference names: of an identifier the first that has not ended, or else the latest.
 *
 * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN, TOPIC_NOT_KEYED
 */
export async function findTask(
  { tasks }: NamedDatabase,
  transaction: unknown,
  topic: string,
  ref: Ref,
): Promise<TaskInfo | undefined> {
  return await tasks.task(transaction, topic, toReference(ref))
}

/** Whether a reference names this task. */
export function names(ref: Ref, task: { readonly sequence: number; readonly identifier: string }): boolean {
  if ('sequence' in ref) return ref.sequence === task.sequence
  return 'identifier' in ref && ref.identifier === task.identifier
}
