import { invalid, taskToString } from '@taskstream/task-api'
import type { Rescheduling, Task } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { parseInstant } from '../core/instant.ts'
import { integer, withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { printDone } from '../output/print.ts'
import { toSelector, withSelector } from '../core/selector.ts'
import type { SelectorOptions } from '../core/selector.ts'

interface RescheduleOptions extends CommonOptions, SelectorOptions {
  readonly due?: string
  readonly delayMs?: number
  readonly deadline?: string
  readonly priority?: number
}

export function addReschedule(program: Command): void {
  withSelector(
    withCommon(program.command('reschedule').description('move tasks that are ready or delayed, in time or by priority')),
  )
    .option('--due <instant>', 'do not poll the tasks before this instant (ISO 8601; UTC without a zone)')
    .option('--delay-ms <ms>', 'for how many milliseconds from now the tasks are not polled; 0: now', integer)
    .option('--deadline <instant>', 'filter the tasks from this instant on, or "none"')
    .option('--priority <number>', 'a higher priority comes sooner, in topics of the order priority', integer)
    .addHelpText(
      'after',
      `
Examples:
  taskstream reschedule invoices @4711 --delay-ms 0 --priority 100
  taskstream reschedule reminders --external-id 'order 7' --due 2027-01-01T08:00:00Z --deadline none`,
    )
    .action(async (topic: string, sequences: readonly string[], options: RescheduleOptions) => {
      const selector = toSelector(sequences, options)
      const to = toRescheduling(options)
      await using database = await openDatabase(options)
      const moved = await database.transactions<readonly Task[]>((transaction) =>
        database.tasks.reschedule(transaction, topic, selector, to),
      )
      const lines = [...moved.map((task) => `rescheduled ${taskToString(task)}`), `rescheduled: ${moved.length}`]
      printDone({ json: { rescheduled: moved }, lines, names: moved.map(({ sequence }) => `@${sequence}`) }, options)
    })
}

function toRescheduling({ due, delayMs, deadline, priority }: RescheduleOptions): Rescheduling {
  return {
    ...(due !== undefined && { due: toInstant('--due', due) }),
    ...(delayMs !== undefined && { delayMs }),
    ...(deadline !== undefined && { deadline: deadline === 'none' ? null : toInstant('--deadline', deadline) }),
    ...(priority !== undefined && { priority }),
  }
}

function toInstant(option: string, text: string): Date {
  const micros = parseInstant(text)
  if (micros === undefined) throw invalid(option, text, 'must be an instant such as 2027-01-01T08:00:00Z')
  return new Date(micros / 1_000)
}
