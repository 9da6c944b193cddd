import type { Repair } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { printJson, printTable } from '../core/output.ts'

const sequences = {
  ahead: 'new tasks are numbered after all existing tasks',
  moved: 'the sequence was behind, and is now ahead of all tasks',
} as const

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
      const repair = (name: string): Promise<Repair> =>
        database.transactions<Repair>((transaction) => database.tasks.repair(transaction, name))
      const topics =
        topic === undefined ? await database.reading<string[]>((transaction) => database.tasks.topics(transaction)) : [topic]
      const done: Repair[] = []
      for (const name of topics) done.push(await repair(name))
      const rows = done.map(({ corrected, listed, noted, held, left }, index) => ({
        topic: topics[index],
        corrected,
        listed,
        noted,
        held,
        left,
      }))
      const sequence = done.some((each) => each.sequence === 'moved') ? 'moved' : 'ahead'
      if (options.json) return printJson({ topics: rows, sequence })
      printTable(
        ['topic', 'corrected', 'of these listed', 'noted', 'held', 'left'],
        rows.map(({ topic: name, corrected, listed, noted, held, left }) => [name, corrected, listed, noted, held, left]),
      )
      if (rows.some(({ left }) => left > 0)) console.log('left: others were working on these tasks; run this again')
      console.log(sequences[sequence])
    })
}
