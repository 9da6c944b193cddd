import { taskToString } from '@taskstream/task-api'
import type { Cancellation } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { printDone } from '../output/print.ts'
import { toSelector, withSelector } from '../core/selector.ts'
import type { SelectorOptions } from '../core/selector.ts'

export function addCancel(program: Command): void {
  withSelector(withCommon(program.command('cancel').description('end tasks that nobody wants any more, those at work included')))
    .addHelpText(
      'after',
      `
A task that has ended stays as it is. To bring a cancelled task back: taskstream redrive <topic> --state filtered

Examples:
  taskstream cancel invoices @4711 @4712
  taskstream cancel reminders --external-id 'order 7'
  taskstream cancel prices --identifier EUR`,
    )
    .action(async (topic: string, sequences: readonly string[], options: CommonOptions & SelectorOptions) => {
      const selector = toSelector(sequences, options)
      await using database = await openDatabase(options)
      const done = await database.transactions<Cancellation>((transaction) => database.tasks.cancel(transaction, topic, selector))
      const taken = new Set(done.taken.map(({ sequence }) => sequence))
      const lines = done.cancelled.map(
        (task) => `cancelled ${taskToString(task)}${taken.has(task.sequence) ? ', which was at work' : ''}`,
      )
      const names = done.cancelled.map(({ sequence }) => `@${sequence}`)
      printDone({ json: done, lines: [...lines, `cancelled: ${lines.length}`], names }, options)
    })
}
