import type { Reached } from './job.ts'

/** Notes which mutants' places are reached, and by whom. */
export interface Coverage {
  /** What the sources ask, at each place and each time: whether they are this mutant. */
  readonly ask: (id: number) => boolean
  /** What was reached since the last turn was reached by this test, or by none. */
  turn(test?: string): void
  /** The file is loaded. */
  loaded(): void
  found(): Reached
}

/** `elsewhere`: what other processes have reached since they were last asked. */
export function coverage(mutants: number, active: number, elsewhere: () => readonly number[]): Coverage {
  const seen = new Uint8Array(mutants + 1)
  const onLoad = new Set<number>()
  const inHooks = new Set<number>()
  const inTests = new Map<string, Set<number>>()
  let outside = onLoad
  let wasActive = false
  const turn = (test?: string): void => {
    let reached = outside
    if (test !== undefined) {
      reached = inTests.get(test) ?? new Set()
      inTests.set(test, reached)
    }
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
      outside = inHooks
    },
    found: () => ({
      onLoad: [...onLoad],
      inHooks: [...inHooks],
      inTests: Object.fromEntries([...inTests].map(([test, reached]) => [test, [...reached]])),
      active: wasActive,
    }),
  }
}
