import { setTimeout as sleep } from 'node:timers/promises'
import { isPassing } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { explain } from '../core/explain.ts'
import { checkTopicKnown } from '../core/known.ts'
import { integer, withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { draw, enterScreen } from '../core/screen.ts'
import { withoutSecrets } from '../core/secrets.ts'
import { seconds } from '../core/time.ts'
import { readTopics, topicColumns } from '../core/topics.ts'
import type { TopicRow } from '../core/topics.ts'
import { absolute } from '../output/duration.ts'
import { columnsOf, formatOf } from '../output/format.ts'
import { isTerminal, printLine, tableStyle } from '../output/print.ts'
import { renderTable } from '../output/table.ts'
import { visible } from '../output/visible.ts'
import { cutEnd } from '../output/width.ts'

interface WatchOptions extends CommonOptions {
  readonly interval: number
  readonly limit: number
}

export function addWatch(program: Command): void {
  withCommon(program.command('watch').description('show topics again and again; without a terminal, a line for each change'))
    .argument('[topic...]')
    .option('-n, --interval <seconds>', 'how often to look', seconds, 2_000)
    .option('--limit <count>', 'how far to count tasks', integer, 1_000)
    .addHelpText('after', '\nEnd it with Ctrl-C.\n\nExamples:\n  taskstream watch\n  taskstream watch invoices -n 0.5')
    .action(async (topics: readonly string[], { interval, limit, ...options }: WatchOptions) => {
      await using database = await openDatabase(options)
      for (const topic of topics) await checkTopicKnown(database, topic)
      const columns = columnsOf(topicColumns(limit), options)
      const draws = isTerminal() && formatOf(options) !== 'ndjson'
      const show = draws ? drawer(database.place, interval) : changes(options)
      if (draws) enterScreen()
      for (;;) {
        try {
          const all = await readTopics(database, limit)
          const rows = all.filter(({ topic }) => topics.length === 0 || topics.includes(topic))
          show(rows, () => renderTable(columns, rows, tableStyle(options)))
        } catch (error) {
          // A database that is restarted comes back, and whoever watches it wants to see that.
          if (!isPassing(error)) throw error
          const text = withoutSecrets(explain(error))
          if (draws) draw([visible(text, process.stdout.columns)])
          else console.error(text)
        }
        await sleep(interval)
      }
    })
}

type Show = (rows: readonly TopicRow[], table: () => readonly string[]) => void

function drawer(place: string, interval: number): Show {
  return (_, table) => {
    const head = `${place}, every ${interval / 1_000} s, ${absolute(new Date(), false).slice(11, 19)}`
    draw([cutEnd(head, process.stdout.columns || 80), '', ...table()])
  }
}

/** Prints topics of which something has changed since the last look. The age of the oldest task alone is no change. */
function changes(options: WatchOptions | CommonOptions): Show {
  const before = new Map<string, string>()
  return (rows) => {
    for (const row of rows) {
      const { topic, ready, active, delayed, paused } = row
      const line = `${visible(topic)} ready ${ready} active ${active} delayed ${delayed}${paused ? ' paused' : ''}`
      if (before.get(topic) === line) continue
      before.set(topic, line)
      const at = new Date()
      if (['json', 'ndjson'].includes(formatOf(options))) printLine({ at, topic, ready, active, delayed, paused })
      else console.log(`${absolute(at, options.utc ?? false)} ${line}`)
    }
    const names = new Set(rows.map(({ topic }) => topic))
    for (const topic of before.keys()) if (!names.has(topic)) before.delete(topic)
  }
}
