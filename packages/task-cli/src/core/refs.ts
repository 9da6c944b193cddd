/** How tasks are named on the command line: `4711` or `@4711`, `ext:abc`, `id:inv-7`, or the identifier alone. */
import { invalid } from '@taskstream/task-api'
import type { TaskInfo, TaskSelector } from '@taskstream/task-api'
import type { NamedDatabase } from './database.ts'

export type Ref =
  | { readonly text: string; readonly sequence: number }
  | { readonly text: string; readonly externalId: string }
  | { readonly text: string; readonly identifier: string }

export const refHelp = '@4711, ext:<external id>, id:<identifier>, or the identifier alone'

/** States of tasks on which work may still be done. */
const open = ['active', 'ready', 'delayed', 'blocked', 'suspended', 'expired'] as const

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

export function toSelector(ref: Ref): TaskSelector {
  if ('sequence' in ref) return ref.sequence
  return 'externalId' in ref ? { externalId: ref.externalId } : { identifier: ref.identifier }
}

/**
 * Finds the task that a reference names: of an identifier the first on which work may still be done, or else the latest.
 *
 * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
 */
export async function findTask(
  { tasks }: NamedDatabase,
  transaction: unknown,
  topic: string,
  ref: Ref,
): Promise<TaskInfo | undefined> {
  if ('sequence' in ref) return await tasks.task(transaction, topic, ref.sequence)
  if ('externalId' in ref) return await tasks.task(transaction, topic, { externalId: ref.externalId })
  const { identifier } = ref
  const [first] = await tasks.page(transaction, topic, { identifier, states: open, size: 1 })
  if (first !== undefined) return first
  const [latest] = await tasks.page(transaction, topic, { identifier, before: Number.MAX_SAFE_INTEGER, size: 1 })
  return latest
}

/** Whether a reference names this task. */
export function names(ref: Ref, task: { readonly sequence: number; readonly identifier: string }): boolean {
  if ('sequence' in ref) return ref.sequence === task.sequence
  return 'identifier' in ref && ref.identifier === task.identifier
}
