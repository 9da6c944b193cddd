/** Indexes of a history that several rules need. */
import { states } from './history.ts'
import type { Change, Fault, History, Push } from './history.ts'

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
  readonly #undoing: readonly { readonly fault: Fault; readonly overAt: number }[]
  readonly #positions: ReadonlyMap<Change, number>

  constructor(history: History) {
    this.history = history
    this.#positions = new Map(history.changes.map((change, position) => [change, position]))
    this.rows = Map.groupBy(history.changes, nameOf)
    this.held = [...this.rows.values()].flatMap((changes) => this.#heldOf(changes))
    const faults = history.events.filter((event): event is Fault => event.verb === 'fault' && event.undoes !== undefined)
    this.#undoing = faults
      .filter(({ phase }) => phase === 'begun')
      .map((fault) => ({
        fault,
        overAt: faults.find(({ phase, call }) => phase === 'done' && call === fault.call)?.at ?? Infinity,
      }))
    const pushes = history.events.filter((event) => event.verb === 'push')
    const answers = new Map(
      pushes.filter(({ phase }) => phase !== 'begun').map((event) => [`${event.actor} ${event.call}`, event]),
    )
    this.asked = pushes
      .filter((event) => event.phase === 'begun')
      .map((push) => {
        const answer = answers.get(`${push.actor} ${push.call}`)
        const at = answer?.at ?? Infinity
        const isUndone = answer?.phase === 'done' && this.mayBeUndone('commits', push.at, at)
        return {
          push,
          outcome: isUndone ? 'unknown' : (answer?.phase ?? 'unknown'),
          at,
          sequences: answer?.phase === 'done' && !isUndone ? answer.sequences : [],
        }
      })
  }

  positionOf(change: Change): number {
    return this.#positions.get(change) ?? -1
  }

  /** Whether a fault that undoes such things was under way between two instants. */
  mayBeUndone(what: Fault['undoes'], from: number, to: number): boolean {
    return this.#undoing.some(({ fault, overAt }) => fault.undoes === what && fault.at <= to && overAt >= from)
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
