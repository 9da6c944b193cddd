import type { Execution, Outcome } from './execution.ts'
import type { TaskError } from './task-error.ts'

/** What a process does: it handles tasks, or fires timers. */
export const nodeKinds = ['node', 'scheduler'] as const
export type NodeKind = (typeof nodeKinds)[number]

/** How a node processes a topic, and how it fares. */
export interface NodeTopic {
  readonly topic: string
  readonly mode?: 'leased' | 'transactional'
  /** How many tasks a batch has at most. */
  readonly size?: number
  /** How many batches are handled at a time at most. */
  readonly concurrency?: number
  /** How many batches are being handled now. */
  readonly busy?: number
  /** The longest pause after polls that find nothing, in milliseconds. */
  readonly idleMs?: number
  /** For how long polls have found nothing, in milliseconds. Absent if the last one found tasks, or if the node may not poll. */
  readonly emptyMs?: number
  /** Tasks of which a handler was asked to let go, and that it goes on with. At most 100. */
  readonly stuck?: readonly StuckTask[]
  /** How many handlers run on, though their time was up and their tasks were decided without them. */
  readonly hung?: number
  /** How many attempts have ended in the last minute, and how many of them failed, timed out or are to be retried. */
  readonly ended?: number
  readonly failed?: number
  /** What does not work, since when. Gone once it works again. */
  readonly error?: NodeTrouble
  /** Since when the process puts tasks off that a later release has pushed, and the first of them. Gone three minutes after the last. */
  readonly newer?: NodeTrouble
}

/** An attempt whose handler was asked to let go, and has not. */
export interface StuckTask {
  readonly sequence: number
  readonly attempt: number
  /** How long ago it was asked, in milliseconds. */
  readonly forMs: number
}

/** Something that goes wrong in a node, beside the handlers of tasks. */
export interface NodeTrouble {
  /** What the node was doing, such as `poll`. */
  readonly activity: string
  readonly message: string
  readonly code?: string
  /** By the clock of the node. */
  readonly since: Date
}

/** The timers that a process has declared in the name of an application. */
export interface DeclaredTimers {
  readonly scope: string
  readonly application: string
  /** Their ids, 1 000 at most. */
  readonly timers: readonly string[]
  /** How many ids `timers` leaves out. */
  readonly omitted?: number
}

/** What a process tells of itself. */
export interface NodeReport {
  readonly kind: NodeKind
  readonly host: string
  readonly pid: number
  /** After how long a silence the process counts as dead, in milliseconds: of heartbeats, or of reports for a scheduler. */
  readonly leaseMs: number
  readonly topics: readonly NodeTopic[]
  /** How many topics `topics` leaves out, as they are too many for a report. Those with an error are the last to be left out. */
  readonly omitted?: number
  /** What its application declares. As long as this process lives, no other process of the application removes these timers. */
  readonly declares?: DeclaredTimers
  /** What does not work in the whole process, such as its heartbeat. */
  readonly error?: NodeTrouble
  /** For how long the event loop stood still at most in the last minute, in milliseconds. */
  readonly blockedMs?: number
  /** Whether the process has stopped as it should. It is the last that it tells. */
  readonly stopped?: boolean
}

/**
 * - `living`: the heartbeat is as it should be
 * - `silent`: a heartbeat is missing, and the lease has not run out
 * - `dead`: the lease has run out, and the process has not said that it stops
 * - `stopped`: the process has said that it stops
 *
 * A scheduler has no heartbeat, as it holds no tasks. It lives by its reports.
 */
export type NodeLife = 'living' | 'silent' | 'dead' | 'stopped'

/** A process as the database knows it. Instants are by the database's clock. */
export interface NodeInfo {
  /** The owner of a node's tasks. That of a scheduler ends with `/timers`: it may have the repository of a node. */
  readonly owner: string
  readonly name: string
  readonly life: NodeLife
  /** Undefined once the owner is no longer registered, and for a scheduler. */
  readonly heartbeat?: Date
  /** What the process has told last, and when. Undefined for a process of a release that tells nothing. */
  readonly report?: NodeReport
  readonly release?: string
  readonly started?: Date
  readonly reported?: Date
  /** Whether the process was asked to take no more tasks. */
  readonly quiet: boolean
}

export interface NodesOptions {
  /** Only processes that tell of this topic. */
  readonly topic?: string
  /** Processes that have stopped or died are left out unless they were seen in the last so many milliseconds, 0 to 100 years. Default: an hour. */
  readonly withinMs?: number
}

/** What a process is told when it tells of itself. */
export interface ReportAnswer {
  /** Whether somebody has asked the owner to take no more tasks. */
  readonly quiet: boolean
  /** SCHEMA_NEWER or SCHEMA_OLDER, if somebody has changed the tables since the start so that this release does not work on them: then it must take no more. */
  readonly refusal?: TaskError
}

/** The processes that work on the tasks of this database. A node tells of itself every half a minute, apart from its heartbeat. */
export interface TaskNodes<Transaction, E extends Execution = 'async'> {
  /**
   * Tells what this repository's owner is and does. Nodes and schedulers call it.
   *
   * @returns whether the owner may take tasks
   * @throws TaskError ARGUMENT_INVALID
   */
  report(transaction: Transaction, report: NodeReport): Outcome<E, ReportAnswer>
  /**
   * The processes, those that live first, and of them the latest first; 10 000 at most.
   *
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * for (const { name, life, release } of await tasks.nodes(tx)) console.log(name, life, release)
   */
  nodes(transaction: Transaction, options?: NodesOptions): Outcome<E, readonly NodeInfo[]>
  /**
   * Asks a process to take no more tasks, or a scheduler to fire no timers, or to go on. It does so when it reports next, within half a minute. What it holds it
   * finishes.
   *
   * @returns whether there is such a process that reports
   */
  quiet(transaction: Transaction, owner: string, quiet?: boolean): Outcome<E, boolean>
}
