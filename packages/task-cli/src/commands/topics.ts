import { pollConditions, pollOrders } from '@taskstream/task-api'
import type { Activation, TopicOptions, TopicOverview } from '@taskstream/task-api'
import { Option } from 'commander'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { integer, withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import type { Column } from '../output/column.ts'
import { printDone, printList } from '../output/print.ts'

interface AddOptions extends CommonOptions, TopicOptions {}

type TopicRow = TopicOverview & { readonly paused: boolean }

/** A count that has reached the limit stands for that many tasks or more. */
function columns(limit: number): readonly Column<TopicRow>[] {
  const count = (value: number): string | number => (value >= limit ? `${value}+` : value)
  return [
    { name: 'topic', rank: 0, kind: 'identifier', value: ({ topic }) => topic },
    { name: 'ready', rank: 0, kind: 'number', value: ({ ready }) => count(ready) },
    { name: 'active', rank: 1, kind: 'number', value: ({ active }) => count(active) },
    { name: 'delayed', rank: 2, kind: 'number', value: ({ delayed }) => count(delayed) },
    { name: 'oldest', rank: 3, kind: 'duration', value: ({ oldestReadyMs }) => oldestReadyMs },
    { name: 'state', rank: 4, kind: 'word', value: ({ paused }) => (paused ? 'paused' : '') },
    { name: 'order', rank: 5, kind: 'word', value: ({ order }) => order },
    { name: 'condition', rank: 6, kind: 'word', value: ({ condition }) => condition },
  ]
}

export function addTopics(program: Command): void {
  const topics = program.command('topics').description('list topics, and make them known')
  addLs(topics)
  addAdd(topics)
}

function addLs(parent: Command): void {
  withCommon(
    parent.command('ls', { isDefault: true }).description('list every topic at a glance; reads no tasks that have ended'),
  )
    .option('--limit <count>', 'how far to count tasks', integer, 1_000)
    .action(async ({ limit, ...options }: CommonOptions & { readonly limit: number }) => {
      await using database = await openDatabase(options)
      const topics = await database.reading(async (transaction) => {
        const activations: ReadonlyMap<string, Activation> = await database.tasks.activations(transaction)
        const overview: readonly TopicOverview[] = await database.tasks.overview(transaction, { limit })
        return overview.map((topic) => ({ ...topic, paused: activations.get(topic.topic)?.active === false }))
      })
      printList({ columns: columns(limit), rows: topics, name: ({ topic }) => topic }, options)
    })
}

function addAdd(parent: Command): void {
  withCommon(parent.command('add').description('make a topic known; a known topic stays as it is'))
    .argument('<topic>')
    .addOption(new Option('--order <order>', 'the order in which tasks are polled (default: fifo)').choices(pollOrders))
    .addOption(new Option('--condition <condition>', 'which tasks may be polled (default: none)').choices(pollConditions))
    .option('--keyed', 'keep an index of identifiers; a topic with a condition always has one')
    .addHelpText(
      'after',
      `
Examples:
  taskstream topics add invoices
  taskstream topics add invoices --order priority --condition singular-by-identifier`,
    )
    .action(async (topic: string, { order, condition, keyed, ...options }: AddOptions) => {
      await using database = await openDatabase(options)
      const asked = { ...(order && { order }), ...(condition && { condition }), ...(keyed && { keyed }) }
      const added = await database.transactions<boolean>((transaction) =>
        // Without options, a known topic may have any order and condition.
        database.tasks.initialize(transaction, topic, ...(Object.keys(asked).length > 0 ? [asked] : [])),
      )
      printDone({ json: { topic, added }, lines: [`${added ? 'added' : 'already there'}: ${topic}`], names: [topic] }, options)
    })
}
