import type { FilterState, TaskCount } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { toFilter, withCommon, withFilter } from '../core/options.ts'
import type { CommonOptions, FilterOptions } from '../core/options.ts'
import { printJson, printTable } from '../core/output.ts'

interface CountOptions extends CommonOptions, FilterOptions {
  readonly recent?: boolean
}

export function addCount(program: Command): void {
  withFilter(withCommon(program.command('count').description('exact counts by topic and state; reads every task that it counts')))
    .argument('[topic]')
    .option('--recent', 'only the latest task of each identifier')
    .action(async (topic: string | undefined, { recent = false, ...options }: CountOptions) => {
      await using database = await openDatabase(options)
      const counts = await database.reading<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
        database.tasks.count(transaction, { ...toFilter(options), recent, ...(topic !== undefined && { topic }) }),
      )
      const rows = [...counts].flatMap(([name, states]) =>
        [...states].map(([state, { count, bound }]) => ({ topic: name, state, count, bound })),
      )
      if (options.json) return printJson(rows)
      printTable(
        ['topic', 'state', 'count', 'last sequence'],
        rows.map(({ topic: name, state, count, bound }) => [name, state, count, bound]),
      )
    })
}
