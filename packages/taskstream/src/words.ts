import { isTaskError, TaskError } from '@taskstream/task-api'
import type { Execution, Outcome, TaskErrorCode } from '@taskstream/task-api'
import type { TaskSettings } from '@taskstream/task-jobs'
import type { SqlTaskRepository } from '@taskstream/task-sql'

type What = TaskSettings['what'] | 'queue'

/** How jobs and topics are spoken of. */
const words = {
  job: { begun: 'handle', told: 'order, ordered, perKey or key' },
  queue: { begun: 'handle', told: 'order, ordered, perKey or keyed' },
  topic: { begun: 'process', told: 'order, condition or keyed' },
}

/** What users can do about errors of the tasks below. Those errors name functions that such users do not have. */
const advice: Partial<Record<TaskErrorCode, (what: What, name: string) => string>> = {
  LIFECYCLE: () => 'The stream was stopped: make a new one',
  SCHEMA_MISSING: (what, name) =>
    `The tables of taskstream are not in this database: call await stream.start() or await stream.prepare(…) with the ${what} "${name}" first. With migrate: false run taskstream migrate up, as the owner`,
  TOPIC_UNKNOWN: (what, name) =>
    `The ${what} "${name}" is not known in this database: call await stream.prepare(…) with it once, or ${words[what].begun} it and start`,
  TOPIC_NOT_KEYED: (what, name) =>
    `The ${what} "${name}" is known in this database without a key: give its definition a key before its first push, or define it by another name`,
  TASK_STATE: (what, name) =>
    `The ${what} "${name}" is ready, is being handled, waits for what it needs, or was deleted meanwhile: only one that has ended, or waits for its time, is tried again by hand`,
  TOPIC_DIFFERENT: (what, name) =>
    `The ${what} "${name}" is known in this database by another definition, whose ${words[what].told} differs: define it as it was, or by another name`,
}

/** The verbs of a repository by which jobs and typed topics are served. */
const verbs = ['initialize', 'push', 'cancel', 'reschedule', 'recreate', 'task', 'attempts', 'page'] as const

export type WordedTasks<Transaction, E extends Execution> = Pick<SqlTaskRepository<Transaction, E>, (typeof verbs)[number]>

/**
 * The repository, for jobs or for typed topics: its verbs say their errors in their words.
 *
 * @param name what the errors are about. Default: what has the name of the topic
 */
export function wordedTasks<Transaction, E extends Execution>(
  repository: SqlTaskRepository<Transaction, E>,
  what: What,
  name?: string,
): WordedTasks<Transaction, E> {
  type Call = (transaction: Transaction, topic: string, ...others: unknown[]) => Outcome<E, unknown>
  const tasks = repository as unknown as Readonly<Record<string, Call>>
  const worded = (verb: string): Call => {
    return (transaction, topic, ...others) => said(what, name ?? topic, () => tasks[verb]!(transaction, topic, ...others))
  }
  return Object.fromEntries(verbs.map((verb) => [verb, worded(verb)])) as unknown as WordedTasks<Transaction, E>
}

/** Calls a verb. Its errors are said in the words of jobs or topics, with the original as the cause; those without such words stay as they are. */
export function said<E extends Execution, Result>(what: What, name: string, verb: () => Outcome<E, Result>): Outcome<E, Result> {
  try {
    const outcome: unknown = verb()
    if (!(outcome instanceof Promise)) return outcome as Outcome<E, Result>
    return outcome.catch((error: unknown) => {
      throw inWords(what, name, error)
    }) as Outcome<E, Result>
  } catch (error) {
    throw inWords(what, name, error)
  }
}

function inWords(what: What, name: string, error: unknown): unknown {
  // That a transaction is inside another has words of its own.
  const text = isTaskError(error) && error.data['inside'] !== true ? advice[error.code]?.(what, name) : undefined
  return text === undefined ? error : new TaskError((error as TaskError).code, text, (error as TaskError).data, { cause: error })
}
