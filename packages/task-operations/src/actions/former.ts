/** What tasks were before an action, in few characters: sequences as ranges, and each kind of former state once. */
import { filterStates, taskReasons } from '@taskstream/task-api'
import type { FilterState, FormerTask, JsonValue, LeftTasks, TaskReason } from '@taskstream/task-api'

export type Ranges = readonly (readonly [first: number, last: number])[]

/** State, attempt, tries, priority, reason, due time and deadline; at the end, those that are not there are left out. */
type Kind = readonly [
  state: number,
  attempt: number,
  tries: number,
  priority: number,
  reason?: number | null,
  due?: number | null,
  deadline?: number | null,
]

interface Packed {
  readonly left: Left
  readonly kinds: readonly Kind[]
  /** For the sequences in their order: how many have which kind. */
  readonly runs: readonly (readonly [count: number, kind: number])[]
}

type Left = Omit<LeftTasks, 'due' | 'deadline'> & { readonly due?: number; readonly deadline?: number | null }

/** Sequences, ascending, as ranges. */
export function rangesOf(sequences: readonly number[]): Ranges {
  const ranges: [number, number][] = []
  for (const sequence of sequences) {
    const range = ranges.at(-1)
    if (range !== undefined && range[1] + 1 === sequence) range[1] = sequence
    else ranges.push([sequence, sequence])
  }
  return ranges
}

export function sequencesIn(ranges: Ranges): readonly number[] {
  return ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => first + index))
}

/** @param tasks by sequence */
export function packed(tasks: readonly FormerTask[], left: LeftTasks): JsonValue {
  const kinds: Kind[] = []
  const places = new Map<string, number>()
  const runs: [number, number][] = []
  for (const task of tasks) {
    const kind = kindOf(task)
    const key = JSON.stringify(kind)
    const place = places.get(key) ?? kinds.push(kind) - 1
    places.set(key, place)
    const run = runs.at(-1)
    if (run?.[1] === place) run[0]++
    else runs.push([1, place])
  }
  const { due, deadline, ...rest } = left
  const stored: Left = {
    ...rest,
    ...(due && { due: due.getTime() }),
    ...(deadline !== undefined && { deadline: deadline && deadline.getTime() }),
  }
  return { left: stored, kinds, runs } as unknown as JsonValue
}

/** @returns undefined if a record has no such former states */
export function unpacked(
  sequences: Ranges | undefined,
  former: JsonValue | undefined,
): { readonly tasks: readonly FormerTask[]; readonly left: LeftTasks } | undefined {
  const { left, kinds, runs } = Object(former) as Partial<Packed>
  if (!sequences || !left || !kinds || !runs) return undefined
  const all = sequencesIn(sequences)
  const places = runs.flatMap(([count, place]) => Array.from({ length: count }, () => place))
  const { due, deadline, ...rest } = left
  return {
    tasks: all.map((sequence, index) => taskOf(sequence, kinds[places[index]!]!)),
    left: {
      ...rest,
      ...(due !== undefined && { due: new Date(due) }),
      ...(deadline !== undefined && { deadline: deadline === null ? null : new Date(deadline) }),
    },
  }
}

function kindOf({ state, attempt, tries, priority, reason, due, deadline }: FormerTask): Kind {
  const optional = [
    reason === undefined ? null : taskReasons.indexOf(reason),
    due === undefined ? null : due.getTime(),
    deadline === undefined ? null : deadline.getTime(),
  ]
  while (optional.at(-1) === null) optional.pop()
  return [filterStates.indexOf(state), attempt, tries, priority, ...optional] as unknown as Kind
}

function taskOf(sequence: number, [state, attempt, tries, priority, reason, due, deadline]: Kind): FormerTask {
  return {
    sequence,
    state: filterStates[state] as FilterState,
    attempt,
    tries,
    priority,
    ...(typeof reason === 'number' && { reason: taskReasons[reason] as TaskReason }),
    ...(typeof due === 'number' && { due: new Date(due) }),
    ...(typeof deadline === 'number' && { deadline: new Date(deadline) }),
  }
}
