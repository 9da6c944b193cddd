/** Indexes of a history that several rules need. */
import { states } from './history.ts'
import type { Change, History, Push } from './history.ts'

/** The time in which an owner held a task. It is open if the history ends before. */
export interface Held {
  readonly topic: string
  readonly sequence: number
  readonly identifier: string
  readonly attempt: number
  readonly owner: string | undefined
  /** Positions among the changes. */
  readonly from: number
  readonly to: number
  readonly claim: Change
  readonly end: Change | undefined
}

export interface Asked {
  readonly push: Push & { readonly phase: 'begun' }
  readonly outcome: Push['phase']
  readonly at: number
  readonly sequences: readonly number[]
}

const nameOf = ({ topic, sequence }: { readonly topic: string; readonly sequence: number }): string => `${topic} ${sequence}`

export class Index {
  readonly history: History
  /** The changes of each row, by topic and sequence. */
  readonly rows: ReadonlyMap<string, readonly Change[]>
  readonly held: readonly Held[]
  /** What became of each push. A push without an answer is unknown. */
  readonly asked: readonly Asked[]
  readonly #positions: ReadonlyMap<Change, number>

  constructor(history: History) {
    this.history = history
    this.#positions = new Map(history.changes.map((change, position) => [change, position]))
    this.rows = Map.groupBy(history.changes, nameOf)
    this.held = [...this.rows.values()].flatMap((changes) => this.#heldOf(changes))
    const pushes = history.events.filter((event) => event.verb === 'push')
    const answers = new Map(
      pushes.filter(({ phase }) => phase !== 'begun').map((event) => [`${event.actor} ${event.call}`, event]),
    )
    this.asked = pushes
      .filter((event) => event.phase === 'begun')
      .map((push) => {
        const answer = answers.get(`${push.actor} ${push.call}`)
        return {
          push,
          outcome: answer?.phase ?? 'unknown',
          at: answer?.at ?? Infinity,
          sequences: answer?.phase === 'done' ? answer.sequences : [],
        }
      })
  }

  positionOf(change: Change): number {
    return this.#positions.get(change) ?? -1
  }

  changesOf(task: { readonly topic: string; readonly sequence: number }): readonly Change[] {
    return this.rows.get(nameOf(task)) ?? []
  }

  #heldOf(changes: readonly Change[]): Held[] {
    return changes.flatMap((claim, index) => {
      if (claim.state !== states.active) return []
      const end = changes[index + 1]
      const { topic, sequence, identifier, attempt, owner } = claim
      const to = end ? this.positionOf(end) : Infinity
      return [{ topic, sequence, identifier, attempt, owner, from: this.positionOf(claim), to, claim, end }]
    })
  }
}

export function topicsOf(history: History, is: (topic: History['setting']['topics'][number]) => boolean): Set<string> {
  return new Set(history.setting.topics.filter(is).map(({ name }) => name))
}
