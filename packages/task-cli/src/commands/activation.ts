import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { personOf } from '../core/person.ts'
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
      .option('--note <text>', 'why: whoever asks later is told')
      .addHelpText('after', `\nExample:\n  taskstream ${name} invoices --note 'the bank is down'`)
      .action(async (topic: string, { note, ...options }: CommonOptions & { readonly note?: string }) => {
        await using database = await openDatabase(options)
        const actor = personOf()
        const told = { actor, ...(note !== undefined && { note }) }
        const changed = await database.transactions(async (transaction): Promise<boolean> => {
          const did = (await database.tasks[verb](transaction, topic, told)) as boolean
          if (did) await database.tasks.record(transaction, { action: name, topic, via: 'cli', count: 0, ...told })
          return did
        })
        const json = { topic, active: verb === 'activate', changed }
        printDone({ json, lines: [`${changed ? '' : 'already '}${done}: ${topic}`], names: [topic] }, options)
      })
  }
}
