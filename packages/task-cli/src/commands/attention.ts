import { attention, audit, changes } from '@taskstream/task-operations'
import type { Attention, AuditEntry, Change } from '@taskstream/task-operations'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { exitCodes } from '../core/exit-codes.ts'
import { integer, withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { span } from '../core/time.ts'
import type { Column } from '../output/column.ts'
import { formatOf } from '../output/format.ts'
import { isTerminal, printList, terminalWidth } from '../output/print.ts'
import { visible } from '../output/visible.ts'
import { mostText } from '../output/table.ts'
import { widthOf } from '../output/width.ts'
import { printWrapped } from '../output/wrap.ts'

/** What anybody asks first, and the two lists of what has happened. */
export function addAttention(program: Command): void {
  withCommon(
    program.command('attention').description(`say whether anything is wrong, and what first; ends with ${exitCodes.no} if so`),
  ).action(showAttention)
  withCommon(
    program.command('changes').description('show what has changed: releases, deaths, pauses, new errors, timers, actions'),
  )
    .option('--since <span>', 'of the last 15m, 2h or 3d', span, 7_200_000)
    .action(async ({ since, ...options }: CommonOptions & { readonly since: number }) => {
      await using database = await openDatabase(options)
      const rows = await changes({ tasks: database.tasks, transactions: database.reading, withinMs: since })
      printList({ columns: changeColumns, rows, name: ({ text }) => text }, options)
    })
  withCommon(program.command('audit').description('show what people have done'))
    .argument('[topic]', 'only this topic')
    .option('--limit <count>', 'how many actions, the latest ones', integer, 50)
    .action(async (topic: string | undefined, { limit, ...options }: CommonOptions & { readonly limit: number }) => {
      await using database = await openDatabase(options)
      const rows = await audit(database, { limit, ...(topic !== undefined && { topic }) })
      printList({ columns: actionColumns, rows, name: ({ id }) => id }, options)
    })
}

/** Also what the command line does without a command. */
export async function showAttention(options: CommonOptions): Promise<void> {
  await using database = await openDatabase(options)
  const rows = await attention({ tasks: database.tasks, transactions: database.reading })
  if (rows.length === 0 && ['table', 'wide'].includes(formatOf(options))) console.log('nothing needs attention')
  else if (formatOf(options) === 'table' && options.columns === undefined && isTerminal() && !fits(rows)) rows.forEach(printBlock)
  else printList({ columns: attentionColumns, rows, name: ({ id }) => id }, options)
  if (rows.length > 0) process.exitCode = exitCodes.no
}

/** Whether a table has room for what is wrong and for the command. Cut, neither is of use to anybody. */
function fits(rows: readonly Attention[]): boolean {
  const most = (texts: readonly string[]): number => Math.max(...texts.map((text) => widthOf(visible(text))))
  const [text, command] = [most(rows.map((row) => row.text)), most(rows.map((row) => row.command))]
  // Beside them there is the severity, and `what` where there is more room.
  return Math.max(text, command) <= mostText && 'severity  '.length + text + 2 + command <= terminalWidth()
}

function printBlock({ severity, text, command }: Attention): void {
  printWrapped(`${severity} ${visible(text)}`)
  printWrapped(visible(command), '  ')
}

export const attentionColumns: readonly Column<Attention>[] = [
  { name: 'severity', rank: 0, kind: 'word', value: ({ severity }) => severity },
  { name: 'what', rank: 2, kind: 'word', value: ({ id }) => id },
  { name: 'text', rank: 0, kind: 'text', value: ({ text }) => text },
  { name: 'see', rank: 1, kind: 'text', value: ({ command }) => command },
]

export const changeColumns: readonly Column<Change>[] = [
  { name: 'when', rank: 0, kind: 'instant', value: ({ at }) => at },
  { name: 'what', rank: 0, kind: 'word', value: ({ kind }) => kind },
  { name: 'text', rank: 0, kind: 'text', value: ({ text }) => text },
]

export const actionColumns: readonly Column<AuditEntry>[] = [
  { name: 'when', rank: 0, kind: 'instant', value: ({ at }) => at },
  { name: 'action', rank: 0, kind: 'word', value: ({ action }) => action },
  { name: 'topic', rank: 0, kind: 'identifier', value: ({ topic }) => topic },
  { name: 'of', rank: 3, kind: 'text', value: namedBy },
  { name: 'tasks', rank: 0, kind: 'number', value: ({ count }) => count },
  { name: 'who', rank: 1, kind: 'text', value: ({ actor }) => actor },
  { name: 'note', rank: 2, kind: 'text', value: ({ note }) => note },
  { name: 'undone', rank: 1, kind: 'word', value: ({ undone }) => (undone === 'no' ? undefined : undone) },
  { name: 'id', rank: 0, kind: 'word', value: ({ id }) => id },
]

/** The timers or the process that an action was done to. */
function namedBy({ filter }: AuditEntry): string | undefined {
  const { owner, ids } = Object(filter) as { readonly owner?: string; readonly ids?: readonly string[] }
  return owner ?? ids?.join(' ')
}
