import type { TaskInfo } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { integer, toFilter, withCommon, withFilter } from '../core/options.ts'
import type { CommonOptions, FilterOptions } from '../core/options.ts'
import { nameOf, taskColumns, withoutPayload } from '../core/tasks.ts'
import { printList } from '../output/print.ts'

interface ListOptions extends CommonOptions, FilterOptions {
  readonly after?: number
  readonly before?: number
  readonly size: number
}

export function addLs(program: Command): void {
  withFilter(
    withCommon(program.command('ls').description('list tasks of a topic, in the order of pushing, without their payload')),
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
  taskstream ls invoices --before 9007199254740991 --size 1      the latest task
  taskstream ls invoices --state delayed -o name | xargs taskstream reschedule invoices --delay-ms 0`,
    )
    .action(async (topic: string, { after, before, size, ...options }: ListOptions) => {
      await using database = await openDatabase(options)
      const { tasks, now } = await database.reading(async (transaction) => ({
        tasks: (await database.tasks.page(transaction, topic, {
          ...toFilter(options),
          ...(after !== undefined && { after }),
          ...(before !== undefined && { before }),
          size,
        })) as TaskInfo[],
        now: await database.tasks.timers.now(transaction, topic),
      }))
      printList({ columns: taskColumns, rows: tasks, name: nameOf, json: withoutPayload, now }, options)
    })
}
