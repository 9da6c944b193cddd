import type { Redrive, RevivableState } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { integer, toFilter, withCommon, withFilter } from '../core/options.ts'
import type { CommonOptions, FilterOptions } from '../core/options.ts'
import { printDone } from '../output/print.ts'

interface RedriveOptions extends CommonOptions, FilterOptions {
  readonly dryRun?: boolean
  readonly limit: number
  readonly error?: string
}

export function addRedrive(program: Command): void {
  withFilter(withCommon(program.command('redrive').description('make failed tasks ready again, in their old places')))
    .argument('<topic>')
    .option('--error <fingerprint>', 'only tasks whose last attempt failed by this error, as taskstream errors names it')
    .option('--dry-run', 'only report how many tasks it would be')
    .option('--limit <count>', 'how many tasks at most', integer, 10_000)
    .addHelpText(
      'after',
      `
Examples:
  taskstream redrive invoices --dry-run
  taskstream redrive invoices --reference run-7
  taskstream redrive invoices --state expired --state failed`,
    )
    .action(async (topic: string, { dryRun = false, limit, error, ...options }: RedriveOptions) => {
      const { states, ...filter } = toFilter(options)
      await using database = await openDatabase(options)
      const done = await database.transactions<Redrive>((transaction) =>
        database.tasks.redrive(transaction, topic, {
          ...filter,
          ...(error !== undefined && { fingerprint: error }),
          ...(states && { states: states as readonly RevivableState[] }),
          dryRun,
          limit,
        }),
      )
      const span = done.count === 0 ? '' : `, sequences ${done.first} to ${done.last}`
      const line = `${dryRun ? 'would be ready again' : 'ready again'}: ${done.count}${span}`
      printDone({ json: { ...done, dryRun }, lines: [line], names: [topic] }, options)
    })
}
