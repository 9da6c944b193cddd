import { setTimeout as sleep } from 'node:timers/promises'
import type { TaskInfo } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import { integer, withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { nameOf, stateOf, withoutPayload } from '../core/tasks.ts'
import { seconds } from '../core/time.ts'
import { absolute } from '../output/duration.ts'
import { formatOf } from '../output/format.ts'
import { isTerminal, printLine, terminalWidth } from '../output/print.ts'
import { visible } from '../output/visible.ts'
import { cutEnd } from '../output/width.ts'

interface TailOptions extends CommonOptions {
  readonly interval: number
  readonly lines: number
}

/** How many tasks one look reads. */
const pageSize = 500

/**
 * So many of the last tasks are read again at each look: a transaction that took its sequences early, and commits late, puts its tasks between those
 * that were shown.
 */
const overlap = 100

export function addTail(program: Command): void {
  withCommon(program.command('tail').description('print new tasks of a topic as they come, without their payload'))
    .argument('<topic>')
    .option('-n, --interval <seconds>', 'how often to look', seconds, 1_000)
    .option('--lines <count>', 'how many of the last tasks to begin with', integer, 10)
    .addHelpText(
      'after',
      `
A task whose transaction commits late is printed when it is seen, unless more than ${overlap} later tasks were printed before. End it with Ctrl-C.

Examples:
  taskstream tail invoices
  taskstream tail invoices --lines 0 -o ndjson`,
    )
    .action(async (topic: string, { interval, lines, ...options }: TailOptions) => {
      await using database = await openDatabase(options)
      const page = (given: object): Promise<TaskInfo[]> =>
        database.reading<TaskInfo[]>((transaction) => database.tasks.page(transaction, topic, given))
      const latest = (await page({ before: Number.MAX_SAFE_INTEGER, size: Math.max(lines, overlap) })).toReversed()
      for (const task of latest.slice(latest.length - Math.min(lines, latest.length))) print(task, options)
      let seen = latest.map(({ sequence }) => sequence)
      for (;;) {
        const found = await page({ after: seen.at(-overlap) ?? 0, size: pageSize })
        const known = new Set(seen)
        const fresh = found.filter(({ sequence }) => !known.has(sequence))
        for (const task of fresh) print(task, options)
        seen = [...seen, ...fresh.map(({ sequence }) => sequence)].sort((left, right) => left - right).slice(-pageSize)
        // A full page has more behind it.
        if (found.length < pageSize) await sleep(interval)
      }
    })
}

function print(task: TaskInfo, options: CommonOptions): void {
  const format = formatOf(options)
  if (format === 'json' || format === 'ndjson') return printLine(withoutPayload(task))
  if (format === 'name') return console.log(nameOf(task))
  const line = visible(`${absolute(task.created, options.utc ?? false)} ${nameOf(task)} ${task.identifier} ${stateOf(task)}`)
  console.log(isTerminal() && format !== 'wide' ? cutEnd(line, terminalWidth()) : line)
}
