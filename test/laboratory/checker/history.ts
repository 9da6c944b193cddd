/** What a run leaves behind. The checker reads it from files, and imports nothing of the product or of the laboratory. */

export interface TopicSetting {
  readonly name: string
  /** Whether only one task of an identifier may be held at a time, in the order of their sequences. */
  readonly keyed: boolean
  readonly order: 'fifo' | 'lifo' | 'priority'
  /** A strict topic has producers and workers, and nobody else: each task is done once, and nothing else happens to it. */
  readonly strict: boolean
  /** The most tasks that may be held at a time. */
  readonly total?: number
  /** Each task that is done here pushes one there, in the same transaction. */
  readonly next?: string
  /** Timers push into this topic. */
  readonly timed?: boolean
}

export interface Setting {
  readonly engine: string
  readonly seed: number
  readonly topics: readonly TopicSetting[]
  readonly leaseMs: number
  /** How long tasks of a dead worker may stay held after its lease, and how long a ready task may be passed over. */
  readonly patienceMs: number
}

export interface TaskName {
  readonly topic: string
  readonly sequence: number
  readonly attempt: number
}

interface Said {
  /** Epoch milliseconds, by a clock that no fault sets. */
  readonly at: number
  readonly actor: string
}

/** A call begins, and is answered or not. A failed push wrote nothing; of an unknown one nobody knows. */
export type Push = Said & {
  readonly verb: 'push'
  readonly call: number
} & (
    | {
        readonly phase: 'begun'
        readonly topic: string
        /** The pushes of a line follow each other. */
        readonly line: string
        readonly keys: readonly string[]
        /** The keys of tasks that must be done before these are taken. */
        readonly needs?: readonly string[]
      }
    | { readonly phase: 'done'; readonly sequences: readonly number[] }
    | { readonly phase: 'failed' | 'unknown' }
  )

export type Start = Said & { readonly verb: 'start'; readonly owner?: string }

export type Stop = Said & { readonly verb: 'stop' } & (
    | { readonly phase: 'begun' }
    | {
        readonly phase: 'done'
        readonly finished: readonly TaskName[]
        readonly returned: readonly TaskName[]
        readonly abandoned: readonly TaskName[]
      }
  )

/** A process ended. `asked` tells whether somebody had stopped or killed it. */
export type End = Said & { readonly verb: 'end'; readonly asked: boolean; readonly how: string }

export type Fault = Said & {
  readonly verb: 'fault'
  readonly call: number
  readonly phase: 'begun' | 'done'
  readonly kind: string
  /** Whether everybody met it. */
  readonly isWide?: boolean
  /** Commits that come between its beginning and its end may be undone by it, or numbers drawn anew. */
  readonly undoes?: 'commits' | 'numbers'
  readonly target?: string
  /** When it is done: how many connections, rows or processes it met. */
  readonly met?: number
}

/** A poll of a node was not answered, so that it may hold tasks of the topic without knowing them, or it failed to ask which. */
export type Unsure = Said & { readonly verb: 'unsure'; readonly topic: string; readonly why: string }

/** What a process has in use at a quiet point: no fault is under way, and its garbage has been collected. */
export type Sample = Said & { readonly verb: 'sample' } & Readonly<Record<Measure, number>>

export type Measure = 'heapBytes' | 'residentBytes' | 'handles' | 'files'

export type Event = Push | Start | Stop | End | Fault | Sample | Unsure

/** A row of a task as it is after a transaction. They are in the order of commits, as far as the engine tells. */
export interface Change {
  readonly topic: string
  readonly sequence: number
  readonly identifier: string
  /** Undefined if the row was deleted. */
  readonly state: number | undefined
  readonly attempt: number
  readonly owner: string | undefined
  readonly priority: number
  /** The key that the producer gave. */
  readonly key: string | undefined
  /** Whether the row is new. */
  readonly isNew: boolean
  readonly externalId: string | undefined
  /** Epoch milliseconds at which the statement began. */
  readonly began: number
  /** Epoch milliseconds of the commit, or of the statement where the engine does not tell. */
  readonly at: number
  /** The transaction, where the engine tells. */
  readonly transaction: string | undefined
}

/** What a handler wrote in the transaction that completed a task. */
export interface Effect extends TaskName {
  readonly key: string
  readonly transaction: string | undefined
}

/** What a leader committed, in the order of commits. */
export interface Led {
  readonly group: string
  readonly actor: string
  readonly term: number
}

/** A timer that elapses whenever the seconds of the minute are a multiple of `everySeconds`. */
export interface Timer {
  readonly id: string
  readonly topic: string
  readonly everySeconds: number
  readonly createdMs: number
  /** The first occurrence that was not due when the run ended. */
  readonly nextMs: number
}

/** What is left when every process has been stopped. Each number must be 0. */
export interface Left {
  readonly connections: number
  /** Rows of owners that were stopped in order, or that were nobody's. */
  readonly owners: number
  /** Notes of the claim ledger about chunks that polls have passed, or should have. */
  readonly holdings: number
  readonly slots: number
  /** Rechecks that no poll has processed. */
  readonly turns: number
  /** Lock stripes too many, or too few. */
  readonly lanes: number
  /** Processes that did not end by themselves when they were stopped. */
  readonly processes: number
  /** Tasks that were still to be done after the patience of the run. */
  readonly unfinished: number
}

export interface History {
  readonly setting: Setting
  readonly events: readonly Event[]
  readonly changes: readonly Change[]
  readonly effects: readonly Effect[]
  readonly led: readonly Led[]
  readonly timers: readonly Timer[]
  readonly left: Left
}

export const states = {
  active: 0,
  ready: 1,
  expired: 2,
  failed: 3,
  suspended: 4,
  filtered: 5,
  succeeded: 6,
  recreated: 7,
  redundant: 8,
} as const

/** What a violation is about. The timeline of a violation shows what happened to these. */
export interface Subjects {
  readonly tasks?: readonly { readonly topic: string; readonly sequence: number }[]
  readonly keys?: readonly string[]
  readonly actors?: readonly string[]
}

export interface Violation {
  readonly rule: string
  readonly says: string
  readonly subjects: Subjects
}

export type Rule = (history: History) => Violation[]
