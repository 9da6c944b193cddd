import { stateOf, taskResults } from '@taskstream/task-api'
import type { RevivableState, TaskResult } from '@taskstream/task-api'
import { Option } from 'commander'
import type { Command } from 'commander'
import { countTasks, previewInstant, runBulk, toBoundFilter, withBulk } from '../core/bulk.ts'
import type { BulkOptions } from '../core/bulk.ts'
import { openDatabase } from '../core/database.ts'
import { CommandError } from '../core/exit-codes.ts'
import { matchingPortion, matchingPortions } from '../core/matching.ts'
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
      const at = await previewInstant(database, topic)
      const filter = { ...toBoundFilter(options, at), states: [state] }
      const { next, last } = matchingPortions(database, topic, filter, async (transaction, sequences) => {
        let count = 0
        // The verb looks at the state again, so a task that has changed meanwhile stays as it is.
        for (const [from, to] of runsOf(sequences))
          count += await database.tasks.reassignAll(transaction, topic, { from: state, to: result, first: from, last: to })
        return count
      })
      const count = await runBulk(
        {
          topic,
          action: 'reassign',
          would: stateOf(result),
          preview: { at, count: await countTasks(database, topic, filter, options.limit) },
          portion: matchingPortion,
          next,
          goOn: () => (last() === undefined ? {} : { '--from': String(last()! + 1) }),
        },
        database,
        options,
      )
      const dryRun = options.dryRun ?? false
      const line = `${dryRun ? 'would be' : 'now'} ${stateOf(result)}: ${count}`
      printDone({ json: { count, result, dryRun }, lines: [line], names: [topic] }, options)
    })
}

/** Sequences that follow each other go in one statement. */
function runsOf(sequences: readonly number[]): readonly (readonly [from: number, to: number])[] {
  const runs: [number, number][] = []
  for (const sequence of sequences) {
    const run = runs.at(-1)
    if (run !== undefined && run[1] + 1 === sequence) run[1] = sequence
    else runs.push([sequence, sequence])
  }
  return runs
}
