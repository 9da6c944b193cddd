import { once } from 'node:events'
import type { TaskInfo } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { integer, positive, toFilter, withDatabase, withFilter } from '../core/options.ts'
import type { FilterOptions } from '../core/options.ts'
import type { SourceOptions } from '../core/source.ts'
import { withoutPayload } from '../core/tasks.ts'
import { toJson } from '../output/visible.ts'

interface ExportOptions extends SourceOptions, FilterOptions {
  readonly after: number
  readonly limit?: number
  readonly reveal?: boolean
}

/** So many tasks are in memory at a time. With payloads of 16 MB that is still much, so there are fewer then. */
const pageSize = 1_000
const pageSizeWithPayload = 50

export function addExport(program: Command): void {
  withFilter(
    withDatabase(
      program.command('export').description('write tasks of a topic, in the order of pushing, as one JSON object on each line'),
    ),
  )
    .argument('<topic>')
    .option('--after <sequence>', 'only tasks with a greater sequence: go on after the last line of an export', integer, 0)
    .option('--limit <count>', 'how many tasks at most (default: all)', positive)
    .option('--reveal', 'with input, headers and output, which may be secret')
    .addHelpText(
      'after',
      `
Tasks are read in portions, and may change between two of them.

Examples:
  taskstream export invoices --state failed --reveal > failed.ndjson
  taskstream export invoices --after 4711 | gzip > invoices.ndjson.gz`,
    )
    .action(async (topic: string, { after, limit = Infinity, reveal = false, ...options }: ExportOptions) => {
      await using database = await openDatabase(options)
      const most = reveal ? pageSizeWithPayload : pageSize
      let [from, left] = [after, limit]
      while (left > 0) {
        const size = Math.min(left, most)
        const page = await database.reading<TaskInfo[]>((transaction) =>
          database.tasks.page(transaction, topic, { ...toFilter(options), after: from, size }),
        )
        for (const task of page) {
          const line = `${toJson(reveal ? task : withoutPayload(task))}\n`
          // A slow reader must not make this process hold all lines in memory.
          if (!process.stdout.write(line)) await once(process.stdout, 'drain')
        }
        if (page.length < size) return
        from = page.at(-1)!.sequence
        left -= page.length
      }
    })
}
