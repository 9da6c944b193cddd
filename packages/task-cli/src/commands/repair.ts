import type { Repair } from '@taskstream/task-api'
import { repairTopic } from '@taskstream/task-operations'
import type { Command } from 'commander'
import { tellUndo } from '../core/bulk.ts'
import { openDatabase } from '../core/database.ts'
import { operatorOf } from '../core/operator.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import type { Column } from '../output/column.ts'
import { printList } from '../output/print.ts'
import { formatOf } from '../output/format.ts'

const sequences = {
  ahead: 'new tasks are numbered after all existing tasks',
  moved: 'the sequence was behind, and is now ahead of all tasks',
} as const

type RepairRow = Pick<Repair, 'corrected' | 'listed' | 'noted' | 'held' | 'left'> & { readonly topic: string }

export const repairColumns: readonly Column<RepairRow>[] = [
  { name: 'topic', rank: 0, kind: 'identifier', value: ({ topic }) => topic },
  { name: 'corrected', rank: 0, kind: 'number', value: ({ corrected }) => corrected },
  { name: 'listed', rank: 1, kind: 'number', value: ({ listed }) => listed },
  { name: 'noted', rank: 2, kind: 'number', value: ({ noted }) => noted },
  { name: 'held', rank: 3, kind: 'number', value: ({ held }) => held },
  { name: 'left', rank: 0, kind: 'number', value: ({ left }) => left },
]

export function addRepair(program: Command): void {
  withCommon(
    program.command('repair').description('correct what a restore, or rows written by hand, left wrong; reads every task'),
  )
    .argument('[topic]')
    .addHelpText(
      'after',
      `
Each topic is repaired in a transaction of its own. Right rows stay as they are, and others may work meanwhile.

Examples:
  taskstream repair
  taskstream repair invoices`,
    )
    .action(async (topic: string | undefined, options: CommonOptions) => {
      await using database = await openDatabase(options)
      const topics =
        topic === undefined ? await database.reading<string[]>((transaction) => database.tasks.topics(transaction)) : [topic]
      const done: Repair[] = []
      for (const name of topics) {
        const { id, ...repaired } = await repairTopic(operatorOf(database), name)
        done.push(repaired)
        tellUndo(id, 'repair')
      }
      const rows = done.map(({ corrected, listed, noted, held, left }, index) => ({
        topic: topics[index]!,
        corrected,
        listed,
        noted,
        held,
        left,
      }))
      const sequence = done.some((each) => each.sequence === 'moved') ? 'moved' : 'ahead'
      printList({ columns: repairColumns, rows, name: (row) => row.topic, document: { topics: rows, sequence } }, options)
      if (!['table', 'wide'].includes(formatOf(options))) return
      if (rows.some(({ left }) => left > 0)) console.log('left: others were working on these tasks; run this again')
      console.log(sequences[sequence])
    })
}
