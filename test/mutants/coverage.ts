import type { Reached } from './job.ts'

/** Notes which mutants' places are reached, and by which test. */
export interface Coverage {
  /** The mutated sources ask at each place whether they are this mutant. */
  readonly ask: (id: number) => boolean
  /** Attributes the places reached since the last turn to this test, to a hook of this suite, or to none. */
  turn(task?: string): void
  /** Attributes the places reached until now to loading the file. */
  loaded(): void
  found(): Reached
}

/** @param elsewhere the places that other processes have reached since the last call */
export function coverage(mutants: number, active: number, elsewhere: () => readonly number[]): Coverage {
  const seen = new Uint8Array(mutants + 1)
  const byTask = new Map<string, Set<number>>()
  let onLoad: ReadonlySet<number> = new Set()
  let wasActive = false
  const turn = (task = ''): void => {
    const reached = byTask.get(task) ?? new Set()
    byTask.set(task, reached)
    for (let id = seen.indexOf(1); id >= 0; id = seen.indexOf(1, id + 1)) reached.add(id)
    seen.fill(0)
    for (const id of elsewhere()) reached.add(id)
  }
  return {
    ask: (id) => {
      seen[id] = 1
      if (id !== active) return false
      wasActive = true
      return true
    },
    turn,
    loaded: () => {
      turn()
      onLoad = byTask.get('') ?? onLoad
      byTask.clear()
    },
    found: () => ({
      onLoad: [...onLoad],
      byTask: Object.fromEntries([...byTask].map(([task, reached]) => [task, [...reached]])),
      active: wasActive,
    }),
  }
}
