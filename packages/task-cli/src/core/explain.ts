import { isTaskError } from '@taskstream/task-api'
import type { TaskError, TaskErrorCode } from '@taskstream/task-api'

/** The texts of errors that name functions of the repository, in terms of commands. */
const words: Readonly<Partial<Record<TaskErrorCode, (data: TaskError['data']) => string>>> = {
  SCHEMA_MISSING: () => 'The tables of taskstream are not in this database. Run: taskstream migrate up',
  SCHEMA_OLDER: ({ found, known }) =>
    `The tables are at version ${String(found)}, and this release needs ${String(known)}. Run: taskstream migrate up`,
  SCHEMA_NEWER: ({ found, known }) =>
    `The tables are at version ${String(found)}, and this release knows ${String(known)}: upgrade @taskstream/task-cli`,
  TOPIC_UNKNOWN: ({ topic }) =>
    `There is no topic "${String(topic)}". Make it known with: taskstream topics add ${quoted(topic)}`,
  TOPIC_NOT_KEYED: ({ topic }) =>
    `Topic "${String(topic)}" keeps no index of identifiers, which this command needs. Make a topic with an index by: taskstream topics add <topic> --keyed`,
  TIMER_UNKNOWN: ({ scope, id }) =>
    `There is no timer "${String(id)}" in the scope "${String(scope)}". List the timers with: taskstream periodic ls`,
  TIMER_DUPLICATE: ({ scope, id }) =>
    `There is a timer "${String(id)}" in the scope "${String(scope)}" already: --replace changes it, or choose another id`,
}

/** The text of an error for the terminal, with its code if it has one. */
export function explain(error: unknown): string {
  const code = isTaskError(error) ? error.code : undefined
  const message = (isTaskError(error) && words[error.code]?.(error.data)) || String((error as Error).message ?? error)
  // Further lines show the place of the error, so the code belongs to the first line.
  const [first, ...rest] = message.split('\n')
  return [`error: ${first}${code === undefined ? '' : ` (${code})`}`, ...rest].join('\n')
}

/** Quotes a text so that a shell reads it as one word. */
function quoted(word: unknown): string {
  const text = String(word)
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
