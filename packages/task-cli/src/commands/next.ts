import type { StoredTimer, Upcoming } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { integer, withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import type { Column } from '../output/column.ts'
import { printList } from '../output/print.ts'

interface Next {
  readonly what: 'ready' | 'due' | 'timer'
  readonly topic: string
  readonly sequence?: number
  readonly identifier: string
  readonly at: Date
}

export function addNext(program: Command): void {
  withCommon(
    program.command('next').description('show what runs next: ready tasks, those that become ready by themselves, and timers'),
  )
    .argument('[topic]', 'only this topic')
    .option('--limit <count>', 'how many of each kind', integer, 20)
    .addHelpText('after', '\nExamples:\n  taskstream next\n  taskstream next invoices')
    .action(async (topic: string | undefined, { limit, ...options }: CommonOptions & { readonly limit: number }) => {
      await using database = await openDatabase(options)
      const { tasks } = database
      const rows = await database.reading(async (transaction): Promise<readonly Next[]> => {
        const all = topic === undefined ? ((await tasks.topics(transaction)) as string[]) : [topic]
        const topics = all.slice(0, mostTopics)
        if (all.length > mostTopics)
          console.error(`only the first ${mostTopics} of ${all.length} topics: name one to see what it does next`)
        const found: Next[] = []
        for (const each of topics) {
          const { ready, due }: Upcoming = await tasks.upcoming(transaction, each, { limit })
          found.push(
            ...ready.map(({ sequence, identifier, created }) => ({
              what: 'ready' as const,
              topic: each,
              sequence,
              identifier,
              at: created,
            })),
          )
          found.push(
            ...due.map(({ sequence, identifier, due: at }) => ({ what: 'due' as const, topic: each, sequence, identifier, at })),
          )
        }
        const timers: readonly StoredTimer[] = await tasks.timers.list(transaction, {})
        return [...found, ...timers.flatMap((timer) => toNext(timer, topic)).slice(0, limit)]
      })
      printList(
        {
          columns: nextColumns,
          rows,
          name: ({ sequence, identifier }) => (sequence === undefined ? identifier : `@${sequence}`),
        },
        options,
      )
    })
}

const mostTopics = 50

function toNext({ id, topic, due }: StoredTimer, only: string | undefined): Next[] {
  if (due === null || (only !== undefined && only !== topic)) return []
  return [{ what: 'timer', topic, identifier: id, at: new Date(due) }]
}

export const nextColumns: readonly Column<Next>[] = [
  { name: 'topic', rank: 1, kind: 'identifier', value: ({ topic }) => topic },
  { name: 'what', rank: 0, kind: 'word', value: ({ what }) => what },
  { name: 'sequence', rank: 1, kind: 'number', value: ({ sequence }) => sequence },
  { name: 'identifier', rank: 0, kind: 'identifier', value: ({ identifier }) => identifier },
  { name: 'pushed, due', rank: 0, kind: 'instant', value: ({ at }) => at },
]
