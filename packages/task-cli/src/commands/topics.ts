import type { Activation, TopicOverview } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../database.ts'
import { integer, withCommon } from '../options.ts'
import type { CommonOptions } from '../options.ts'
import { duration, printJson, printTable } from '../output.ts'

export function addTopics(program: Command): void {
  withCommon(program.command('topics').description('every topic at a glance; reads no history'))
    .option('--limit <count>', 'count no further than this', integer, 1_000)
    .action(async ({ limit, ...options }: CommonOptions & { readonly limit: number }) => {
      await using database = await openDatabase(options)
      const topics = await database.reading(async (transaction) => {
        const activations: ReadonlyMap<string, Activation> = await database.tasks.activations(transaction)
        const overview: readonly TopicOverview[] = await database.tasks.overview(transaction, { limit })
        return overview.map((topic) => ({ ...topic, paused: activations.get(topic.topic)?.active === false }))
      })
      if (options.json) return printJson(topics)
      const count = (value: number): string => (value >= limit ? `${value}+` : String(value))
      printTable(
        ['topic', 'order', 'condition', 'ready', 'active', 'delayed', 'oldest ready', ''],
        topics.map(({ topic, order, condition, ready, active, delayed, oldestReadyMs, paused }) => [
          topic,
          order,
          condition,
          count(ready),
          count(active),
          count(delayed),
          oldestReadyMs === undefined ? '' : duration(oldestReadyMs),
          paused ? 'paused' : '',
        ]),
      )
    })
}
