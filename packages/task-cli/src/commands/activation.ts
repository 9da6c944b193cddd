import { switchTopic } from '@taskstream/task-operations'
import type { Command } from 'commander'
import { tellUndo } from '../core/bulk.ts'
import { openDatabase } from '../core/database.ts'
import { operatorOf } from '../core/operator.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { printDone } from '../output/print.ts'

const commands = [
  { name: 'pause', done: 'paused', description: 'have every node stop processing a topic, in phases' },
  { name: 'resume', done: 'resumed', description: 'have every node process a topic again' },
] as const

export function addActivation(program: Command): void {
  for (const { name, done, description } of commands) {
    withCommon(program.command(name).description(description))
      .argument('<topic>')
      .option('--note <text>', 'why: whoever asks later is told')
      .addHelpText('after', `\nExample:\n  taskstream ${name} invoices --note 'the bank is down'`)
      .action(async (topic: string, { note, ...options }: CommonOptions & { readonly note?: string }) => {
        await using database = await openDatabase(options)
        const { changed, id } = await switchTopic(operatorOf(database, note), topic, name)
        const json = { topic, active: name === 'resume', changed, audit: id }
        printDone({ json, lines: [`${changed ? '' : 'already '}${done}: ${topic}`], names: [topic] }, options)
        tellUndo(id, name)
      })
  }
}
