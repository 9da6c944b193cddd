import type { Execution, Outcome } from './execution.ts'
import type { FilterState } from './task-filter.ts'
import type { NodeTrouble } from './task-nodes.ts'
import type { TaskInfo, TaskKey } from './task.ts'

/**
 * Why a task is where it is, in the order in which the reasons are looked for. None is ever taken out of the list.
 *
 * Nowhere:
 * - `unknown`: there is no such task. It was rolled back, is not committed yet, or was purged
 *
 * It has ended:
 * - `succeeded`, `failed`, `filtered`, `recreated`, `redundant`: as its state says
 *
 * Somebody holds it:
 * - `running`: the owner sends heartbeats
 * - `stuck`: the owner sends heartbeats, and its handler was asked to let go of the task and has not, as the node tells: see `since`
 * - `owner-silent`: the owner has missed a heartbeat, and its lease has not run out: see `until`
 * - `owner-dead`: the owner's lease has run out, and nobody has taken its tasks from it yet
 *
 * It is set aside:
 * - `expired`: its owner died, and nobody has revived the task
 * - `suspended`: until somebody revives it
 * - `awaits`: it needs tasks that have not succeeded: see `by`
 * - `retrying`: until its next try
 * - `delayed`: until its due time
 * - `overdue`: its due time has passed, and nobody makes it ready
 *
 * It is ready:
 * - `paused`: its topic is not to be processed: see `paused`
 * - `no-node`: no living node processes the topic
 * - `node-unknown`: owners live, but none of them tells which topics it processes
 * - `node-silent`: every node of the topic has missed a heartbeat: it is hung up, or has died. See `until`
 * - `node-quiet`: every node of the topic was asked to take no more tasks
 * - `node-failing`: every node of the topic reports an error
 * - `past-deadline`: its deadline has passed, so the next poll filters it
 * - `out-of-turn`: another task of its identifier comes first: see `by`
 * - `limited`: a limit of the topic is reached: see `limit`
 * - `locked`: another transaction has locked its row: it handles the task, or changes it. Seen on PostgreSQL, MariaDB and MySQL
 * - `no-slot`: every node of the topic is handling as many batches as it may
 * - `behind`: other ready tasks come first: see `ahead`
 * - `next`: a node takes it when it polls next
 * - `unexplained`: it is the next one, and a node has told that its polls find nothing, for longer than 30 s and two of its pauses: see `since`.
 *   Only said of a task that was never tried, as nobody knows since when another one has been ready
 */
export const diagnosisCodes = [
  'unknown',
  'succeeded',
  'failed',
  'filtered',
  'recreated',
  'redundant',
  'running',
  'stuck',
  'owner-silent',
  'owner-dead',
  'expired',
  'suspended',
  'awaits',
  'retrying',
  'delayed',
  'overdue',
  'paused',
  'no-node',
  'node-unknown',
  'node-silent',
  'node-quiet',
  'node-failing',
  'past-deadline',
  'out-of-turn',
  'limited',
  'locked',
  'no-slot',
  'behind',
  'next',
  'unexplained',
] as const
export type DiagnosisCode = (typeof diagnosisCodes)[number]

/** A task that another one waits for, and why that one is where it is. */
export interface Blocker extends TaskKey {
  readonly identifier?: string
  readonly state?: FilterState
  readonly code: DiagnosisCode
  /** For a task that is needed: the name of the need. */
  readonly need?: string
  /** Since when it is where it is. */
  readonly since?: Date
  /** The error of its last attempt. */
  readonly error?: string
}

/** Something that helps: a verb of the repository; `start-node`, a process that somebody has to start; or `examine`, a look at the database. */
export interface Remedy {
  readonly verb: 'redrive' | 'cancel' | 'reassign' | 'activate' | 'reschedule' | 'quiet' | 'limit' | 'start-node' | 'examine'
  readonly topic: string
  readonly sequence?: number
  readonly state?: FilterState
  readonly owner?: string
}

/** Why a task is not running, or what became of it. Instants are by the database's clock. */
export interface Diagnosis {
  /** When the question was answered. */
  readonly at: Date
  readonly code: DiagnosisCode
  /** What else keeps the task from running, and would once the first reason is gone. */
  readonly also: readonly DiagnosisCode[]
  /** The task; undefined if there is none. */
  readonly task?: TaskInfo
  readonly since?: Date
  readonly until?: Date
  /** What the task waits for, and what that waits for in turn: the root is last. At most five. */
  readonly by: readonly Blocker[]
  /** As which task one that has succeeded went on (`withSuccessor`, a job's `next`): the first that has not succeeded, or else the last; at most five further. */
  readonly successor?: Blocker
  /** Who holds the task. */
  readonly owner?: { readonly owner: string; readonly heartbeat?: Date; readonly release?: string }
  /** How many ready tasks come first; 10 000 stands for that many or more. */
  readonly ahead?: number
  /** How many tasks of the topic ended in the last minute, as its nodes tell. */
  readonly pace?: number
  readonly paused?: { readonly since: Date; readonly actor?: string; readonly note?: string }
  /** What the server calls the session whose transaction has locked the row, where it can be asked: PostgreSQL's process id. */
  readonly session?: number
  readonly limit?: { readonly kind: 'total' | 'rate'; readonly amount: number }
  /** How many living nodes process the topic, and what does not work in them. */
  readonly nodes?: { readonly count: number; readonly troubles: readonly (NodeTrouble & { readonly owner: string })[] }
  /** The error of the last attempt that did not succeed, if there is one, with the release that made it, and the id of its trace. */
  readonly last?: {
    readonly attempt: number
    readonly error?: string
    readonly release?: string
    readonly trace?: string
    readonly ended: Date
  }
  /** Who put the task off without using up a try, and why: of a task that waits for its time. An example is a worker of an earlier release. */
  readonly putOff?: {
    /** How many of its attempts used up no try. */
    readonly times: number
    readonly owner?: string
    readonly release?: string
    readonly explanation: string
  }
  readonly remedies: readonly Remedy[]
}

/** Names a task: its sequence, its external id, or its identifier. */
export type TaskReference = number | { readonly externalId: string } | { readonly identifier: string }

export interface TaskDiagnosis<Transaction, E extends Execution = 'async'> {
  /**
   * Says why a task is not running, whom it waits for, and what helps. It reads at most some thousand rows, and waits for no lock. On MariaDB and MySQL
   * it locks the row of a ready task for the rest of the transaction, in share mode, to see whether others have locked it: polls pass it meanwhile.
   *
   * @param reference an identifier stands for its first task that has not ended, or else for its latest one; only in keyed topics
   * @throws TaskError TOPIC_UNKNOWN, ARGUMENT_INVALID, TOPIC_NOT_KEYED
   * @example
   * const { code, by } = await tasks.why(tx, 'invoices', { identifier: 'inv-7' })
   * if (code === 'out-of-turn') console.log('waits for', by.at(-1))
   */
  why(transaction: Transaction, topic: string, reference: TaskReference): Outcome<E, Diagnosis>
}
