import { invalid } from '@taskstream/task-api'
import type { FilterState, TaskCount } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { checkTopicKnown } from '../core/known.ts'
import { integer, toFilter, withCommon, withFilter } from '../core/options.ts'
import type { CommonOptions, FilterOptions } from '../core/options.ts'
import { atMost, readTopics } from '../core/topics.ts'
import type { Column } from '../output/column.ts'
import { printList } from '../output/print.ts'

interface CountOptions extends CommonOptions, FilterOptions {
  readonly exact?: boolean
  readonly recent?: boolean
  readonly limit: number
}

interface CountRow {
  readonly topic: string
  readonly state: FilterState
  readonly count: number
  /** The greatest sequence, of an exact count. */
  readonly bound?: number
  /** Whether there may be more tasks than were counted. */
  readonly isLeast?: true
}

export function addCount(program: Command): void {
  withFilter(withCommon(program.command('count').description('count tasks by topic and state')))
    .argument('[topic]')
    .option('--exact', 'count every state without a limit, those that have ended too; reads every task')
    .option('--limit <count>', 'how far to count without --exact', integer, 1_000)
    .option('--recent', 'with --exact: only the latest task of each identifier')
    .addHelpText(
      'after',
      `
Without --exact only tasks that are ready, active or delayed are counted, and only up to the limit.

Examples:
  taskstream count
  taskstream count invoices --exact --state failed`,
    )
    .action(async (topic: string | undefined, { exact = false, recent = false, limit, ...options }: CountOptions) => {
      const filter = toFilter(options)
      if (!exact && (recent || Object.keys(filter).length > 0))
        throw invalid('--exact', exact, 'must be given with a filter or --recent, as such a count reads every task')
      await using database = await openDatabase(options)
      const rows = exact ? await countExactly(database, { ...filter, recent }, topic) : await countOpen(database, limit, topic)
      printList({ columns: countColumns(limit, exact), rows, name: (row) => row.topic }, options)
    })
}

/** @param limit how far was counted without `exact` */
export function countColumns(limit: number, exact: boolean): readonly Column<CountRow>[] {
  return [
    { name: 'topic', rank: 0, kind: 'identifier', value: (row) => row.topic },
    { name: 'state', rank: 0, kind: 'word', value: ({ state }) => state },
    { name: 'count', rank: 0, kind: 'number', value: ({ count, isLeast }) => (isLeast ? atMost(count, limit) : count) },
    ...(exact ? [{ name: 'last', rank: 1, kind: 'number', value: ({ bound }) => bound } satisfies Column<CountRow>] : []),
  ]
}

async function countExactly(
  { reading, tasks }: NamedDatabase,
  filter: Parameters<NamedDatabase['tasks']['count']>[1],
  topic: string | undefined,
): Promise<readonly CountRow[]> {
  const counts = await reading<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
    tasks.count(transaction, { ...filter, ...(topic !== undefined && { topic }) }),
  )
  return [...counts].flatMap(([name, states]) => [...states].map(([state, found]) => ({ topic: name, state, ...found })))
}

async function countOpen(database: NamedDatabase, limit: number, topic: string | undefined): Promise<readonly CountRow[]> {
  if (topic !== undefined) await checkTopicKnown(database, topic)
  const topics = (await readTopics(database, limit)).filter((row) => topic === undefined || row.topic === topic)
  return topics.flatMap((row) =>
    (['ready', 'active', 'delayed'] as const).map((state) => ({
      topic: row.topic,
      state,
      count: row[state],
      ...(row[state] >= limit && { isLeast: true as const }),
    })),
  )
}
