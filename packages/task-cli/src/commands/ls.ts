import type { TaskInfo } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { integer, toFilter, withCommon, withFilter } from '../core/options.ts'
import type { CommonOptions, FilterOptions } from '../core/options.ts'
import { printLine, printTable } from '../core/output.ts'

interface ListOptions extends CommonOptions, FilterOptions {
  readonly after?: number
  readonly before?: number
  readonly size: number
}

export function addLs(program: Command): void {
  withFilter(
    withCommon(program.command('ls').description('list tasks of a topic, in the order of pushing; with --json one on each line')),
  )
    .argument('<topic>')
    .option('--after <sequence>', 'only tasks with a greater sequence, ascending', integer)
    .option('--before <sequence>', 'only tasks with a smaller sequence, the latest first', integer)
    .option('--size <count>', 'how many tasks at most', integer, 50)
    .addHelpText(
      'after',
      `
Examples:
  taskstream ls invoices --state failed --size 10
  taskstream ls invoices --before 9007199254740991 --size 1      the latest task`,
    )
    .action(async (topic: string, { after, before, size, ...options }: ListOptions) => {
      await using database = await openDatabase(options)
      const tasks = await database.reading<TaskInfo[]>((transaction) =>
        database.tasks.page(transaction, topic, {
          ...toFilter(options),
          ...(after !== undefined && { after }),
          ...(before !== undefined && { before }),
          size,
        }),
      )
      if (options.json) return tasks.forEach(printLine)
      printTable(
        ['sequence', 'identifier', 'state', 'reason', 'tries', 'created', 'due', 'completed', 'input', 'output'],
        tasks.map((task) => [
          task.sequence,
          task.identifier,
          // Filters and counts call a suspended task with a due time `delayed`.
          task.blocked ? 'blocked' : task.due === undefined ? task.state : 'delayed',
          task.reason,
          task.tries,
          task.created,
          task.due,
          task.completed,
          task.input,
          task.output,
        ]),
      )
    })
}
