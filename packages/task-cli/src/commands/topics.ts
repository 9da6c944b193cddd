import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { integer, withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { readTopics, topicColumns } from '../core/topics.ts'
import { printList } from '../output/print.ts'

export function addTopics(program: Command): void {
  withCommon(program.command('topics').description('list every topic at a glance; reads no tasks that have ended'))
    .option('--limit <count>', 'how far to count tasks', integer, 1_000)
    .addHelpText('after', '\nExamples:\n  taskstream topics\n  taskstream topics --columns topic,ready,oldest')
    .action(async ({ limit, ...options }: CommonOptions & { readonly limit: number }) => {
      await using database = await openDatabase(options)
      const rows = await readTopics(database, limit)
      printList({ columns: topicColumns(limit), rows, name: ({ topic }) => topic }, options)
    })
}
