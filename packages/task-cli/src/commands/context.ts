import type { Command } from 'commander'
import { contextOf, findContexts, useContext } from '../core/contexts.ts'
import type { Context, Contexts } from '../core/contexts.ts'
import { CommandError } from '../core/exit-codes.ts'
import type { Column } from '../output/column.ts'
import { withOutput } from '../output/format.ts'
import type { OutputOptions } from '../output/format.ts'
import { printDone, printList } from '../output/print.ts'

export function addContext(program: Command): void {
  const context = program.command('context').description('list the databases of taskstream.json, and choose one of them')
  withOutput(context.command('ls').description('list the contexts; reads no address'))
    .addHelpText('after', '\nExample:\n  taskstream context ls')
    .action((options: OutputOptions) => {
      const contexts = found()
      const columns: readonly Column<Context>[] = [
        { name: 'context', rank: 0, kind: 'identifier', value: ({ name }) => name },
        { name: 'used', rank: 0, kind: 'word', value: ({ name }) => (name === contexts.used ? 'used' : '') },
        { name: 'address', rank: 1, kind: 'text', value: ({ variable, file }) => variable ?? file },
        { name: 'set', rank: 2, kind: 'word', value: isSet },
        { name: 'production', rank: 0, kind: 'word', value: ({ production }) => (production ? 'production' : '') },
      ]
      const json = (each: Context): unknown => ({ ...each, used: each.name === contexts.used })
      printList({ columns, rows: contexts.all, name: ({ name }) => name, json }, options)
      warnOfVariable(contexts)
    })
  withOutput(
    context.command('use').description('choose the context that commands use without another one; writes taskstream.json'),
  )
    .argument('<name>')
    .addHelpText('after', '\nExample:\n  taskstream context use local')
    .action((name: string, options: OutputOptions) => {
      const contexts = found()
      contextOf(name, contexts)
      useContext(contexts, name)
      printDone({ json: { used: name, path: contexts.path }, lines: [`used: ${name}`], names: [name] }, options)
      warnOfVariable({ ...contexts, used: name })
    })
}

function found(): Contexts {
  const contexts = findContexts()
  if (contexts !== undefined) return contexts
  throw new CommandError(
    'usage',
    'there is no taskstream.json here or above. Write one, such as {"contexts":{"shop":{"variable":"SHOP_URL"}}}',
  )
}

function isSet({ variable }: Context): string {
  if (variable === undefined) return ''
  return process.env[variable] ? 'set' : 'not set'
}

/** A context that is used has no say where the variable is set. */
function warnOfVariable({ used }: Contexts): void {
  if (used !== undefined && process.env['TASKSTREAM_URL'])
    console.error(`TASKSTREAM_URL is set, and goes before the context ${used}`)
}
