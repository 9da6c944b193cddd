import type { FilterState } from '@taskstream/task-api'
import type { ActionRequest } from '@taskstream/task-operations'
import type { Command } from 'commander'
import { filterGiven, previewInstant, runBulk, withBulk } from '../core/bulk.ts'
import type { BulkOptions } from '../core/bulk.ts'
import { openDatabase } from '../core/database.ts'
import { span } from '../core/time.ts'
import { CommandError } from '../core/exit-codes.ts'
import { printDone } from '../output/print.ts'

interface PurgeOptions extends BulkOptions {
  readonly olderThan?: number
}

/** What the verb purges if nothing is said: what has ended, or was set aside. */
const ended: readonly FilterState[] = ['failed', 'suspended', 'filtered', 'succeeded', 'recreated', 'redundant']

export function addPurge(program: Command): void {
  withBulk(program.command('purge').description('delete tasks that have ended, or that are in the given states'))
    .argument('<topic>')
    .option('--older-than <time>', 'only tasks that ended at least so long ago, such as 30d', span)
    .addHelpText(
      'after',
      `
Without --state: ${ended.join(', ')}.
A task that is still to be done is deleted only if its state is named. A task that others need stays.

Examples:
  taskstream purge invoices --state succeeded --older-than 30d --dry-run
  taskstream purge reminders --state delayed --identifier user-7
  taskstream purge invoices --older-than 90d --rate 500/s --yes`,
    )
    .action(async (topic: string, { olderThan, ...options }: PurgeOptions) => {
      if (olderThan !== undefined && options.changedBefore !== undefined)
        throw new CommandError('usage', '--older-than and --changed-before cannot be given together')
      await using database = await openDatabase(options)
      const now = await previewInstant(database, topic)
      const at = new Date(now.getTime() - (olderThan ?? 0))
      const request: ActionRequest = { action: 'purge', topic, filter: filterGiven(options) }
      const goOn = { '--older-than': undefined }
      const { count, dryRun, audit } = await runBulk(
        { request, would: 'deleted', isGrave: true, asOf: at, goOn },
        database,
        options,
      )
      const line = `${dryRun ? 'would be deleted' : 'deleted'}: ${count}`
      printDone({ json: { count, dryRun, audit }, lines: [line], names: [topic] }, options)
    })
}
