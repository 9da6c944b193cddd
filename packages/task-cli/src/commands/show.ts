import type { TaskAttempt, TaskInfo } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { noTask } from '../core/known.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { findTask, refHelp, toRef } from '../core/refs.ts'
import { nameOf, stateOf, taskColumns, triesOf, withoutPayload } from '../core/tasks.ts'
import type { Column } from '../output/column.ts'
import { absolute, relative } from '../output/duration.ts'
import { formatOf } from '../output/format.ts'
import { isTerminal, printJson, printLine, printList } from '../output/print.ts'
import { visible, visibleLines } from '../output/visible.ts'

interface ShowOptions extends CommonOptions {
  readonly reveal?: boolean
}

/** A terminal shows no more characters of a payload. */
const mostOnTerminal = 16_384

export function addShow(program: Command): void {
  withCommon(program.command('show').description('show everything of a task, and the attempts at it that did not succeed'))
    .argument('<topic>')
    .argument('<task>', refHelp)
    .option('--reveal', 'also show its input, headers and output, and the messages of attempts, which may be secret')
    .addHelpText(
      'after',
      `
Of an identifier the first task is shown on which work may still be done, or else the latest.

Examples:
  taskstream show invoices @4711
  taskstream show invoices inv-7 --reveal -o json`,
    )
    .action(async (topic: string, text: string, { reveal = false, ...options }: ShowOptions) => {
      const ref = toRef(text)
      await using database = await openDatabase(options)
      const { task, attempts, now } = await database.reading(async (transaction) => {
        const found = await findTask(database, transaction, topic, ref)
        if (found === undefined) throw noTask(topic, text, database.place)
        return {
          task: found,
          attempts: (await database.tasks.attempts(transaction, topic, found.sequence)) as readonly TaskAttempt[],
          now: (await database.tasks.timers.now(transaction, topic)) as number,
        }
      })
      const shown = reveal ? task : withoutPayload(task)
      const tried = reveal ? attempts : attempts.map(({ message: _message, ...attempt }) => attempt)
      const format = formatOf(options)
      if (format === 'json') return printJson({ ...shown, attempts: tried })
      if (format === 'ndjson') return printLine({ ...shown, attempts: tried })
      if (format === 'csv' || format === 'name') return printList({ columns: taskColumns, rows: [task], name: nameOf }, options)
      const instant = (at: Date): string => {
        const text = absolute(at, options.utc ?? false)
        return format === 'wide' ? text : `${text} (${relative(at, now).replace(/^(?!in )(.*)$/, '$1 ago')})`
      }
      for (const [name, value] of facts(task, instant)) console.log(`${name.padEnd(11)} ${visible(value)}`)
      // What has failed unreachable says in words of ours what it needed.
      const isOurs = (name: string): boolean => name === 'output' && task.reason === 'unreachable'
      for (const [name, value] of payload(task)) printPayload(name, value, reveal || isOurs(name))
      if (tried.length === 0) return
      console.log('\nattempts that did not succeed')
      const { columns: _, json: __, ...rest } = options
      const shownColumns = tried.some(({ trace }) => trace !== undefined) ? [...attemptColumns, traceColumn] : attemptColumns
      printList({ columns: shownColumns, rows: tried, name: ({ attempt }) => String(attempt), now }, rest)
      if (reveal) for (const { attempt, message } of attempts) if (message) printPayload(`attempt ${attempt}`, message, true)
    })
}

export const attemptColumns: readonly Column<TaskAttempt>[] = [
  { name: 'attempt', rank: 0, kind: 'number', value: ({ attempt }) => attempt },
  { name: 'outcome', rank: 0, kind: 'word', value: ({ outcome }) => outcome },
  { name: 'ended', rank: 1, kind: 'instant', value: ({ ended }) => ended },
  { name: 'reason', rank: 3, kind: 'word', value: ({ reason }) => reason },
  { name: 'error', rank: 0, kind: 'text', value: ({ error }) => error },
  { name: 'owner', rank: 2, kind: 'identifier', value: ({ owner }) => owner },
]

/** Shown only where telemetry has told traces. */
const traceColumn: Column<TaskAttempt> = { name: 'trace', rank: 4, kind: 'word', value: ({ trace }) => trace }

function facts(task: TaskInfo, instant: (at: Date) => string): readonly (readonly [string, string])[] {
  const at = (value: Date | undefined): string | undefined => value && instant(value)
  const { topic, reason, priority, attempt, created, started, completed, due, deadline, owner, reference, externalId } = task
  const all: readonly (readonly [string, string | undefined])[] = [
    ['task', `${topic}/${task.identifier}@${task.sequence}`],
    ['state', reason === undefined ? stateOf(task) : `${stateOf(task)} (${reason})`],
    ['tries', `${triesOf(task)}, taken ${attempt} times`],
    ['priority', String(priority)],
    ['created', at(created)],
    ['started', at(started)],
    ['ended', at(completed)],
    ['due', at(due)],
    ['deadline', at(deadline)],
    ['owner', owner],
    ['reference', reference],
    ['external id', externalId],
  ]
  return all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

function payload({ input, headers, output }: TaskInfo): readonly (readonly [string, string])[] {
  const all = { input, headers: headers && JSON.stringify(headers), output }
  return Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

function printPayload(name: string, text: string, reveal: boolean): void {
  const size = `${text.length.toLocaleString('en')} characters`
  if (!reveal) return console.log(`${name.padEnd(11)} ${size}; --reveal shows them`)
  const most = isTerminal() ? mostOnTerminal : Infinity
  console.log(`\n${name}, ${size}${text.length > most ? '; -o json has all of them' : ''}\n${visibleLines(text, most)}`)
}
