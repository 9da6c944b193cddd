import { taskToString } from '@taskstream/task-api'
import type { Cancellation } from '@taskstream/task-api'
import type { Command } from 'commander'
import { confirmContext, withContextName } from '../core/confirm.ts'
import type { ConfirmOptions } from '../core/confirm.ts'
import { openDatabase } from '../core/database.ts'
import { explainUntouched, onNamedTasks } from '../core/named-tasks.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { refHelp } from '../core/refs.ts'
import { printDone } from '../output/print.ts'

export function addCancel(program: Command): void {
  withContextName(
    withCommon(program.command('cancel').description('end tasks that nobody wants any more, those at work included')),
  )
    .argument('<topic>')
    .argument('<task...>', refHelp)
    .addHelpText(
      'after',
      `
A task that has ended stays as it is. To bring a cancelled task back: taskstream redrive <topic> --state filtered
An identifier stands for all of its tasks that have not ended, in a keyed topic.

Examples:
  taskstream cancel invoices @4711 @4712
  taskstream cancel reminders 'ext:order 7'
  taskstream cancel prices EUR`,
    )
    .action(async (topic: string, refs: readonly string[], options: CommonOptions & Pick<ConfirmOptions, 'confirm'>) => {
      await using database = await openDatabase(options)
      await confirmContext({ count: refs.length }, database, options)
      const done = await database.transactions((transaction) =>
        onNamedTasks<Cancellation>(transaction, refs, async (tx, selector) => await database.tasks.cancel(tx, topic, selector)),
      )
      const cancelled = done.flatMap((each) => each.cancelled)
      const taken = done.flatMap((each) => each.taken)
      const atWork = new Set(taken.map(({ sequence }) => sequence))
      const lines = cancelled.map(
        (task) => `cancelled ${taskToString(task)}${atWork.has(task.sequence) ? ', which was at work' : ''}`,
      )
      const names = cancelled.map(({ sequence }) => `@${sequence}`)
      printDone({ json: { cancelled, taken }, lines: [...lines, `cancelled: ${lines.length}`], names }, options)
      await explainUntouched(database, topic, refs, cancelled)
    })
}
