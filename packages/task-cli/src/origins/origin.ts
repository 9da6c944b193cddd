/** What other places of jobs have in common: jobs that wait there become tasks here. */
import type { PushedTask, TaskCreation, TopicOptions } from '@taskstream/task-api'

export const originNames = ['pg-boss', 'graphile-worker', 'bullmq', 'taskstream'] as const
export type OriginName = (typeof originNames)[number]
/** The queues of others. */
export type LibraryName = Exclude<OriginName, 'taskstream'>

export interface OriginRequest {
  /** A queue of pg-boss or BullMQ, or a task identifier of graphile-worker. */
  readonly queue: string
  /** Which of a job's fields becomes the identifier of its task. Default: the first of the origin's. */
  readonly key?: string
  /** Whether the tasks are told the names of their jobs, by which a queue of several definitions finds its routes. */
  readonly names: boolean
  /** The schema of the tables, or the prefix of the keys in Redis. */
  readonly space?: string
}

/** So many jobs share something that a person should know. */
export interface Remark {
  readonly what: string
  readonly count: number
  readonly hint: string
}

export interface Survey {
  /** How many jobs would be moved. */
  readonly waiting: number
  /** Jobs that stay where they are. */
  readonly left: readonly Remark[]
  /** What the tasks of the jobs that are moved do not have. */
  readonly lost: readonly Remark[]
  /** How many of the jobs that are moved have a priority. */
  readonly prioritized: number
  /** How many of them have the field that becomes the identifier. */
  readonly keyed: number
}

/** Pushes a portion, in the transaction if there is one. What was pushed without one is committed. */
export type Push = (creations: readonly TaskCreation[], transaction?: unknown) => Promise<readonly PushedTask[]>

export interface Origin extends AsyncDisposable {
  /** What messages call it. */
  readonly place: string
  /** How its tasks are polled, which a topic that is made for them takes over. */
  readonly options?: TopicOptions
  survey(): Promise<Survey>
  /** Called before anything is moved, also if nothing is to be. @throws CommandError refused, if that would break a promise */
  check?(): Promise<void>
  /** Called once before the first move. */
  begin?(): Promise<void>
  /** What turned out to stay while others were moved. */
  stayed?(): readonly Remark[]
  /** Called once so many were moved. */
  record?(count: number): Promise<void>
  /**
   * Moves the jobs that come next, at most so many. If the process dies at any moment, each job is there, or here, or both; a job that is on both sides
   * is recognized by its external id when it is moved again.
   *
   * @returns what was pushed; nothing when no job is left that could be moved
   */
  move(size: number): Promise<readonly PushedTask[]>
}

/** The remarks that are about any job at all. */
export function remarks(...all: readonly Remark[]): readonly Remark[] {
  return all.filter(({ count }) => count > 0)
}
