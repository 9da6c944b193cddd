import { isTaskError } from '@taskstream/task-api'
import type { TaskError, TaskErrorCode } from '@taskstream/task-api'

/** What errors say in a shell: the repository speaks of functions, and there are none here. */
const words: Readonly<Partial<Record<TaskErrorCode, (data: TaskError['data']) => string>>> = {
  SCHEMA_MISSING: () => 'The tables of taskstream are not in this database, run: taskstream migrate up',
  SCHEMA_OLDER: ({ found, known }) =>
    `The tables are at version ${String(found)}, and this release needs ${String(known)}, run: taskstream migrate up`,
  SCHEMA_NEWER: ({ found, known }) =>
    `The tables are at version ${String(found)}, and this release knows ${String(known)}: upgrade @taskstream/task-cli`,
  TOPIC_UNKNOWN: ({ topic }) => `There is no topic "${String(topic)}", to make it known: taskstream topics add ${quoted(topic)}`,
  TOPIC_NOT_KEYED: ({ topic }) =>
    `Topic "${String(topic)}" keeps no index of identifiers, which this needs: such a topic is made by taskstream topics add <topic> --keyed`,
  TIMER_UNKNOWN: ({ scope, id }) =>
    `There is no timer "${String(id)}" in the scope "${String(scope)}", those that there are: taskstream periodic ls`,
  TIMER_DUPLICATE: ({ scope, id }) =>
    `There is a timer "${String(id)}" in the scope "${String(scope)}" already: --replace changes it, or give this one an id of its own`,
}

/** The text of an error, with its code if it has one, in the words of the command line. */
export function explain(error: unknown): string {
  const code = isTaskError(error) ? error.code : undefined
  const message = (isTaskError(error) && words[error.code]?.(error.data)) || String((error as Error).message ?? error)
  // What follows the first line shows what it is about.
  const [first, ...rest] = message.split('\n')
  return [`error: ${first}${code === undefined ? '' : ` (${code})`}`, ...rest].join('\n')
}

/** As a shell takes it for one word. */
function quoted(word: unknown): string {
  const text = String(word)
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
