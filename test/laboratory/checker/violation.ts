import type { Violation } from './history.ts'

interface About {
  readonly topic?: string
  readonly sequence?: number
  readonly key?: string | undefined
  readonly actor?: string | undefined
}

export function violation(rule: string, says: string, ...abouts: readonly About[]): Violation {
  return {
    rule,
    says,
    subjects: {
      tasks: abouts.flatMap(({ topic, sequence }) =>
        topic === undefined || sequence === undefined ? [] : [{ topic, sequence }],
      ),
      keys: abouts.flatMap(({ key }) => (key === undefined ? [] : [key])),
      actors: abouts.flatMap(({ actor }) => (actor === undefined ? [] : [actor])),
    },
  }
}
