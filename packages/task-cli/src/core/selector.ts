import { invalid } from '@taskstream/task-api'
import type { TaskSelector } from '@taskstream/task-api'
import type { Command } from 'commander'

export interface SelectorOptions {
  readonly externalId?: string
  readonly identifier?: string
}

/** Adds the arguments by which a command is told its tasks. */
export function withSelector(command: Command): Command {
  return command
    .argument('<topic>')
    .argument('[sequence...]', 'the tasks, by their sequences: @4711')
    .option('--external-id <text>', 'instead of sequences: the task of this external id')
    .option('--identifier <text>', 'instead of sequences: every task of this identifier, in a keyed topic')
}

/** @throws TaskError ARGUMENT_INVALID unless tasks are named in one of the three ways */
export function toSelector(sequences: readonly string[], { externalId, identifier }: SelectorOptions): TaskSelector {
  const ways = [sequences.length > 0, externalId !== undefined, identifier !== undefined].filter(Boolean)
  if (ways.length !== 1)
    throw invalid(
      'tasks',
      sequences.join(' '),
      'must be named by sequences such as @4711, or by --external-id, or by --identifier',
    )
  if (externalId !== undefined) return { externalId }
  if (identifier !== undefined) return { identifier }
  return sequences.map(toSequence)
}

function toSequence(text: string): number {
  const digits = /^@?(\d+)$/.exec(text)?.[1]
  if (digits === undefined)
    throw invalid('sequence', text, 'must be a number such as @4711; an external id is given by --external-id')
  return Number(digits)
}
