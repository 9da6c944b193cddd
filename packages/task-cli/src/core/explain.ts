/** What the terminal says of an error: what is wrong, with which one, and the command that helps. */
import { isTaskError } from '@taskstream/task-api'
import type { TaskError, TaskErrorCode } from '@taskstream/task-api'
import { visibleLines } from '../output/visible.ts'
import { hintOf } from './hints.ts'
import type { Hint } from './hints.ts'
import { withoutSecrets } from './secrets.ts'

type Words = (data: TaskError['data'], hint: Hint | undefined) => string

/** The texts of errors that name functions of the repository, in terms of commands. */
const words: Readonly<Partial<Record<TaskErrorCode, Words>>> = {
  SCHEMA_MISSING: (_, hint) => `The tables of taskstream are not in ${database(hint)}. Run: taskstream migrate up`,
  SCHEMA_OLDER: ({ found, known }) =>
    found === undefined
      ? ''
      : `The tables are at version ${String(found)}, and this release needs ${String(known)}. Run: taskstream migrate up`,
  SCHEMA_NEWER: ({ found, known }) =>
    `The tables are at version ${String(found)}, and this release knows ${String(known)}: upgrade @taskstream/task-cli`,
  TOPIC_UNKNOWN: ({ topic }, hint) =>
    `no topic "${String(topic)}"${within(hint)}${meant(hint)} (create it: taskstream topic create ${quoted(topic)})`,
  TOPIC_DIFFERENT: ({ topic }) =>
    `Topic "${String(topic)}" has another order or condition, and keeps it. See both with: taskstream topic options ${quoted(topic)}`,
  TOPIC_NOT_KEYED: ({ topic }) =>
    `Topic "${String(topic)}" keeps no index of identifiers, which this command needs. Name the task by its sequence (@4711) or external id (ext:…), or make a topic with an index: taskstream topic create <topic> --keyed`,
  TIMER_UNKNOWN: ({ scope, id }, hint) =>
    `no timer "${String(id)}" in the scope "${String(scope)}"${within(hint)}${hint?.scope === undefined ? meant(hint) : `; there is one in the scope "${hint.scope}": --scope ${quoted(hint.scope)}`} (list them: taskstream periodic ls)`,
  TIMER_DUPLICATE: ({ scope, id }) =>
    `There is a timer "${String(id)}" in the scope "${String(scope)}" already: --replace changes it, or choose another id`,
}

/** A driver may say anything of any length. */
const mostMessage = 4_000

/** The text of an error for the terminal, with its code if it has one. With TASKSTREAM_DEBUG also where it comes from. */
export function explain(error: unknown): string {
  const code = isTaskError(error) ? error.code : undefined
  const hint = error instanceof Error ? hintOf(error) : undefined
  const message = (isTaskError(error) && words[error.code]?.(error.data, hint)) || String((error as Error)?.message ?? error)
  // Passwords go before anything is cut or replaced: a part of one is a secret, too.
  // Further lines show the place of the error, so the code belongs to the first line.
  const [first, ...rest] = visibleLines(withoutSecrets(message), mostMessage).split('\n')
  const lines = [`error: ${first}${code === undefined ? '' : ` (${code})`}`, ...rest]
  return [...lines, ...(process.env['TASKSTREAM_DEBUG'] ? stacksOf(error) : [])].join('\n')
}

function stacksOf(error: unknown): readonly string[] {
  if (!(error instanceof Error)) return []
  return [
    visibleLines(withoutSecrets(String(error.stack ?? error))),
    ...stacksOf(error.cause).map((stack) => `caused by ${stack}`),
  ]
}

function database(hint: Hint | undefined): string {
  return hint?.place ?? 'this database'
}

function within(hint: Hint | undefined): string {
  return hint === undefined ? '' : ` in ${hint.place}`
}

function meant(hint: Hint | undefined): string {
  return hint?.meant === undefined ? '' : `; did you mean ${hint.meant}?`
}

/** Quotes a text so that a shell reads it as one word. */
export function quoted(word: unknown): string {
  const text = String(word)
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
