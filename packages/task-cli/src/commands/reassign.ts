import { stateOf, taskResults } from '@taskstream/task-api'
import type { RevivableState, TaskResult } from '@taskstream/task-api'
import type { ActionRequest } from '@taskstream/task-operations'
import { Option } from 'commander'
import type { Command } from 'commander'
import { filterGiven, runBulk, withBulk } from '../core/bulk.ts'
import type { BulkOptions } from '../core/bulk.ts'
import { openDatabase } from '../core/database.ts'
import { CommandError } from '../core/exit-codes.ts'
import { printDone } from '../output/print.ts'

interface ReassignOptions extends BulkOptions {
  readonly result: TaskResult
}

export function addReassign(program: Command): void {
  withBulk(program.command('reassign').description('give tasks that have ended another result'))
    .argument('<topic>')
    .addOption(new Option('--result <result>', 'the result that they get').choices(taskResults).makeOptionMandatory())
    .addHelpText(
      'after',
      `
One --state says which tasks: expired, failed, suspended, delayed, filtered or succeeded.

Examples:
  taskstream reassign invoices --state failed --result success --reference run-7
  taskstream reassign reminders --state delayed --result filter --yes`,
    )
    .action(async (topic: string, { result, ...options }: ReassignOptions) => {
      const [state, ...others] = (options.state ?? []) as readonly RevivableState[]
      if (state === undefined || others.length > 0) throw new CommandError('usage', 'which tasks? Give one --state')
      if (state === stateOf(result)) throw new CommandError('usage', `these tasks are ${state} already: give another --result`)
      await using database = await openDatabase(options)
      const request: ActionRequest = { action: 'reassign', topic, result, filter: { ...filterGiven(options), states: [state] } }
      const { count, dryRun, audit } = await runBulk({ request, would: stateOf(result) }, database, options)
      const line = `${dryRun ? 'would be' : 'now'} ${stateOf(result)}: ${count}`
      printDone({ json: { count, result, dryRun, audit }, lines: [line], names: [topic] }, options)
    })
}
