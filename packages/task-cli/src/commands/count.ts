import type { FilterState, TaskCount } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { toFilter, withCommon, withFilter } from '../core/options.ts'
import type { CommonOptions, FilterOptions } from '../core/options.ts'
import type { Column } from '../output/column.ts'
import { printList } from '../output/print.ts'

interface CountOptions extends CommonOptions, FilterOptions {
  readonly recent?: boolean
}

interface CountRow {
  readonly topic: string
  readonly state: FilterState
  readonly count: number
  readonly bound: number
}

const columns: readonly Column<CountRow>[] = [
  { name: 'topic', rank: 0, kind: 'identifier', value: ({ topic }) => topic },
  { name: 'state', rank: 0, kind: 'word', value: ({ state }) => state },
  { name: 'count', rank: 0, kind: 'number', value: ({ count }) => count },
  { name: 'last', rank: 1, kind: 'number', value: ({ bound }) => bound },
]

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
      printList({ columns, rows, name: (row) => row.topic }, options)
    })
}
