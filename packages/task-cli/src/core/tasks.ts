/** What lists show of tasks. Payloads are not in lists: they may be secret, and long. */
import type { FilterState, TaskInfo } from '@taskstream/task-api'
import type { Column } from '../output/column.ts'

export const taskColumns: readonly Column<TaskInfo>[] = [
  { name: 'sequence', rank: 0, kind: 'number', value: ({ sequence }) => sequence },
  { name: 'identifier', rank: 0, kind: 'identifier', value: ({ identifier }) => identifier },
  { name: 'external-id', rank: 3, kind: 'identifier', value: ({ externalId }) => externalId },
  { name: 'state', rank: 0, kind: 'word', value: stateOf },
  { name: 'reason', rank: 4, kind: 'word', value: ({ reason }) => reason },
  { name: 'tries', rank: 3, kind: 'word', value: triesOf },
  { name: 'age', rank: 1, kind: 'instant', value: ({ created }) => created },
  { name: 'due', rank: 2, kind: 'due', value: ({ due }) => due },
  { name: 'ended', rank: 5, kind: 'instant', value: ({ completed }) => completed },
  { name: 'deadline', rank: 7, kind: 'instant', value: ({ deadline }) => deadline },
  { name: 'owner', rank: 6, kind: 'identifier', value: ({ owner }) => owner },
  { name: 'reference', rank: 8, kind: 'identifier', value: ({ reference }) => reference },
  { name: 'priority', rank: 9, kind: 'number', value: ({ priority }) => priority, wideOnly: true },
  { name: 'attempt', rank: 9, kind: 'number', value: ({ attempt }) => attempt, wideOnly: true },
  { name: 'started', rank: 9, kind: 'instant', value: ({ started }) => started, wideOnly: true },
]

/** The state as filters and counts call it: a task that waits for its due time is stored as suspended. */
export function stateOf({ state, blocked, due }: TaskInfo): FilterState {
  return blocked ? 'blocked' : due === undefined ? state : 'delayed'
}

/** How many tries the task has had, and of how many. */
export function triesOf({ tries, maxTries }: TaskInfo): string {
  return maxTries === undefined ? String(tries) : `${tries}/${maxTries}`
}

/** What other commands call the task. */
export function nameOf({ sequence }: TaskInfo): string {
  return `@${sequence}`
}

/** The task without what its producer and its handler have said: input, headers and output. */
export function withoutPayload({
  input: _input,
  output: _output,
  headers: _headers,
  ...task
}: TaskInfo): Omit<TaskInfo, 'input' | 'output' | 'headers'> {
  return task
}
