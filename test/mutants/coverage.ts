import type { Reached } from './job.ts'

/** Notes which mutants' places are reached, and by whom. */
export interface Coverage {
  /** What the sources ask, at each place and each time: whether they are this mutant. */
  readonly ask: (id: number) => boolean
  /** What was reached since the last turn was reached by this test, in a hook of this suite, or in none. */
  turn(task?: string): void
  /** The file is loaded. */
  loaded(): void
  found(): Reached
}

/** `elsewhere`: what other processes have reached since they were last asked. */
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
