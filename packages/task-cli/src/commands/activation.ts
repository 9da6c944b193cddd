import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { printDone } from '../output/print.ts'

/** The commands, and the verb of the repository behind each. */
const commands = [
  { name: 'pause', verb: 'deactivate', done: 'paused', description: 'have every node stop processing a topic, in phases' },
  { name: 'resume', verb: 'activate', done: 'resumed', description: 'have every node process a topic again' },
] as const

export function addActivation(program: Command): void {
  for (const { name, verb, done, description } of commands) {
    withCommon(program.command(name).description(description))
      .argument('<topic>')
      .addHelpText('after', `\nExample:\n  taskstream ${name} invoices`)
      .action(async (topic: string, options: CommonOptions) => {
        await using database = await openDatabase(options)
        const changed = await database.transactions<boolean>((transaction) => database.tasks[verb](transaction, topic))
        const json = { topic, active: verb === 'activate', changed }
        printDone({ json, lines: [`${changed ? '' : 'already '}${done}: ${topic}`], names: [topic] }, options)
      })
  }
}
