import { TaskError } from '@taskstream/task-api'
import type { Dialect } from './dialect.ts'
import type { SqlValue, Statement } from './statement.ts'
import type { Templates } from './template.ts'
import type { Verb } from './verb.ts'
import type { TopicMode } from './topic-mode.ts'
import type { Place } from './turns.ts'

/** A task with an identifier and an input only. */
interface SingleTask extends Record<string, SqlValue> {
  readonly topic: string
  readonly identifier: string
  readonly input: string | null
}

/** Values that all verbs of one repository share. */
export interface Context {
  readonly dialect: Dialect
  /** The owner's name and incarnation. */
  readonly owner: string
  readonly ownerName: string
  /** The release of the program, which attempts and nodes are recorded with. */
  readonly release: string | undefined
  /** Names what kind of error an attempt has failed by, if the program does so itself. */
  readonly fingerprint: ((error: Error) => string | undefined) | undefined
  /** Epoch milliseconds of a test clock, or null for the database's own. */
  readonly now: () => number | null
  /** The modes of topics, as polls have seen them. Each claim checks that the mode is still right. */
  readonly modes: Map<string, TopicMode>
  /** This owner's heartbeat as an expiry has seen it last, in epoch milliseconds of the database's clock. */
  readonly beat: { seenMs: number | undefined }
  /** Until when no look for blocked tasks of a topic is made, by `performance.now()`. */
  readonly looks: Map<string, number>
  /** Topics whose last polls have left tasks that the next poll may find at once. */
  readonly unfinished: Set<string>
  /** Whose turn was last, in topics of the order `shared`. */
  readonly places: Map<string, Place>
  /** Columns of a claimed row, for polls by the database's clock. */
  readonly columns: Statement
  /** Columns of a timer's row `t`. */
  readonly timerColumns: Statement
  /** The statements for pushes of a single task. */
  readonly single: Templates<SingleTask>
}

/** @throws TaskError PERMISSION_DENIED if the database hides rows from this user, so that the topic may be known */
export function* topicUnknown(dialect: Dialect, topic: string): Verb<TaskError> {
  if (dialect.session.checkSeen) yield* dialect.session.checkSeen()
  return new TaskError('TOPIC_UNKNOWN', `Topic "${topic}" was never initialised: call initialize(transaction, "${topic}") once`, {
    topic,
  })
}

export function topicNotKeyed(topic: string, verb: string): TaskError {
  return new TaskError(
    'TOPIC_NOT_KEYED',
    `Topic "${topic}" has no index of identifiers, which ${verb} needs, and ${keepsOptions(topic, '{ keyed: true }')}`,
    { topic },
  )
}

/** The part of an error message that says that a topic keeps its options, and how to get a topic with others. */
export function keepsOptions(topic: string, wanted: string): string {
  return (
    'keeps the options it was initialised with: ' +
    `initialize another topic with ${wanted}, or destroy(transaction, "${topic}") with all of its tasks and initialize it anew`
  )
}

export function ownerUnknown(owner: string): TaskError {
  return new TaskError(
    'OWNER_UNKNOWN',
    `Owner "${owner}" is not registered, or was removed as dead: call register(transaction)`,
    { owner },
  )
}
