import { taskToString } from '@taskstream/task-api'
import type { FilterState, LockedTask, Task } from '@taskstream/task-api'
import type { ActionRequest } from '@taskstream/task-operations'
import type { Command } from 'commander'
import { checkChosen, filterGiven, runBulk, runNamed, tellUndo, withBulk } from '../core/bulk.ts'
import type { BulkOptions } from '../core/bulk.ts'
import { confirmContext } from '../core/confirm.ts'
import { openDatabase } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { CommandError } from '../core/exit-codes.ts'
import { explainUntouched } from '../core/named-tasks.ts'
import { toFilter } from '../core/options.ts'
import { refHelp, toRef, toSelector } from '../core/refs.ts'
import { printDone } from '../output/print.ts'

/** The states in which a task can be cancelled. */
const open: readonly FilterState[] = ['active', 'ready', 'delayed', 'blocked', 'suspended', 'expired']

export function addCancel(program: Command): void {
  withBulk(program.command('cancel').description('end tasks that nobody wants any more, those at work included'))
    .argument('<topic>')
    .argument('[task...]', `the tasks: ${refHelp}`)
    .addHelpText(
      'after',
      `
Tasks are named, or chosen by a filter. A task that has ended stays as it is. To bring a cancelled task back: taskstream redrive <topic> <task>
An identifier stands for all of its tasks that have not ended, in a keyed topic.

Examples:
  taskstream cancel invoices @4711 @4712
  taskstream cancel reminders 'ext:order 7'
  taskstream cancel prices EUR
  taskstream cancel invoices --state delayed --reference run-7 --dry-run`,
    )
    .action(async (topic: string, refs: readonly string[], options: BulkOptions) => {
      if (refs.length === 0) checkChosen(options, 'cancel')
      else if (Object.keys(toFilter(options)).length > 0) throw new CommandError('usage', 'give tasks, or a filter, but not both')
      await using database = await openDatabase(options)
      await (refs.length === 0 ? cancelFiltered(database, topic, options) : cancelNamed(database, topic, refs, options))
    })
}

async function cancelFiltered(database: NamedDatabase, topic: string, options: BulkOptions): Promise<void> {
  const { states, ...filter } = filterGiven(options)
  const known = states?.filter((state) => open.includes(state))
  if (known?.length === 0)
    throw new CommandError('usage', `tasks in the state ${states!.join(', ')} cannot be cancelled, only ${open.join(', ')}`)
  const request: ActionRequest = { action: 'cancel', topic, filter: { ...filter, ...(known && { states: known }) } }
  const { count, dryRun, audit } = await runBulk({ request, would: 'cancelled' }, database, options)
  const line = `${dryRun ? 'would be cancelled' : 'cancelled'}: ${count}`
  printDone({ json: { count, dryRun, audit }, lines: [line], names: [topic] }, options)
}

async function cancelNamed(database: NamedDatabase, topic: string, refs: readonly string[], options: BulkOptions): Promise<void> {
  if (options.dryRun) throw new CommandError('usage', '--dry-run goes with a filter: tasks that are named are known')
  await confirmContext({ count: refs.length }, database, options)
  const named = refs.map((ref) => toSelector(toRef(ref)))
  const { id, tasks } = await runNamed(database, { action: 'cancel', topic, named })
  const toTask = ({ sequence, identifier }: LockedTask): Task => ({ topic, sequence, identifier })
  const cancelled = tasks.map(toTask)
  const taken = tasks.filter(({ state }) => state === 'active').map(toTask)
  const atWork = new Set(taken.map(({ sequence }) => sequence))
  const lines = cancelled.map(
    (task) => `cancelled ${taskToString(task)}${atWork.has(task.sequence) ? ', which was at work' : ''}`,
  )
  const names = cancelled.map(({ sequence }) => `@${sequence}`)
  printDone({ json: { cancelled, taken, audit: id }, lines: [...lines, `cancelled: ${lines.length}`], names }, options)
  tellUndo(id, 'cancel')
  await explainUntouched(database, topic, refs, cancelled)
}
