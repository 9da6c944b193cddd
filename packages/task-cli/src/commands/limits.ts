import { invalid } from '@taskstream/task-api'
import type { TopicLimits } from '@taskstream/task-api'
import { limitTopic } from '@taskstream/task-operations'
import { Option } from 'commander'
import type { Command } from 'commander'
import { tellUndo } from '../core/bulk.ts'
import { openDatabase } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { operatorOf } from '../core/operator.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import type { Column } from '../output/column.ts'
import { duration } from '../output/duration.ts'
import { printList } from '../output/print.ts'

interface LimitsOptions extends CommonOptions {
  readonly total?: string
  readonly rate?: string
  readonly maxEntries?: string
  readonly whenFull?: string
  readonly deadLetter?: string
}

type Limits = ReadonlyMap<string, TopicLimits>

type LimitsRow = readonly [topic: string, limits: TopicLimits]

export const limitColumns: readonly Column<LimitsRow>[] = [
  { name: 'topic', rank: 0, kind: 'identifier', value: ([topic]) => topic },
  { name: 'total', rank: 1, kind: 'number', value: ([, { total }]) => total },
  { name: 'rate', rank: 2, kind: 'word', value: ([, { rate }]) => rate && `${rate.count} in ${duration(rate.perMs)}` },
  { name: 'entries', rank: 3, kind: 'number', value: ([, { maxEntries }]) => maxEntries?.count },
  { name: 'when-full', rank: 5, kind: 'word', value: ([, { maxEntries }]) => maxEntries?.whenFull },
  { name: 'dead-letters', rank: 4, kind: 'identifier', value: ([, { deadLetter }]) => deadLetter },
]

/** Takes a limit away. */
const none = 'none'

export function addLimits(program: Command): void {
  withCommon(
    program.command('limits').description('the limits that all processes keep together; options change those of a topic'),
  )
    .argument('[topic]')
    .option('--total <count>', 'how many tasks may be at work at a time, or "none"')
    .option('--rate <count/ms>', 'how many tasks may start in so many milliseconds, such as 100/60000, or "none"')
    .option('--max-entries <count>', 'how many tasks may wait or be at work, or "none"')
    .addOption(new Option('--when-full <what>', 'what a push to a full topic does').choices(['reject', 'drop-oldest']))
    .option('--dead-letter <topic>', 'where copies of failed tasks go, or "none"')
    .addHelpText(
      'after',
      `
Limits that are not given stay as they are. Loops follow within a second or two, or when their maintenance runs next.

Examples:
  taskstream limits
  taskstream limits mail --total 10
  taskstream limits mail --rate none --max-entries 5000 --when-full drop-oldest`,
    )
    .action(async (topic: string | undefined, options: LimitsOptions) => {
      const given = optionsOf(options)
      if (given.length > 0 && topic === undefined) throw invalid('topic', topic, `must be given with ${given.join(', ')}`)
      await using database = await openDatabase(options)
      const limits =
        topic !== undefined && given.length > 0
          ? await setLimits(database, topic, options)
          : await database.reading<Limits>(async (transaction) => {
              // A topic without limits is told apart from one that is not there.
              if (topic !== undefined) await database.tasks.task(transaction, topic, 0)
              return database.tasks.limits(transaction)
            })
      const shown = [...limits].filter(([name]) => topic === undefined || name === topic)
      const json = ([name, limited]: LimitsRow): unknown => ({ topic: name, ...limited })
      printList(
        { columns: limitColumns, rows: shown, name: ([name]) => name, json, document: Object.fromEntries(shown) },
        options,
      )
    })
}

async function setLimits(database: NamedDatabase, topic: string, options: LimitsOptions): Promise<Limits> {
  const { id, limits } = await limitTopic(operatorOf(database), topic, (before) => changed(before, options))
  tellUndo(id, 'limits')
  return new Map([[topic, limits]])
}

/** The options that change something. */
function optionsOf({ total, rate, maxEntries, whenFull, deadLetter }: LimitsOptions): readonly string[] {
  const given = {
    '--total': total,
    '--rate': rate,
    '--max-entries': maxEntries,
    '--when-full': whenFull,
    '--dead-letter': deadLetter,
  }
  return Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]))
}

function changed(before: TopicLimits, { total, rate, maxEntries, whenFull, deadLetter }: LimitsOptions): TopicLimits {
  const entries = maxEntries ?? (whenFull === undefined ? undefined : before.maxEntries && String(before.maxEntries.count))
  if (whenFull !== undefined && (entries === undefined || entries === none))
    throw invalid('--when-full', whenFull, 'must stand beside --max-entries, as the topic has no such limit')
  const limits = {
    total: total === undefined ? before.total : numberOf('--total', total),
    rate: rate === undefined ? before.rate : rateOf(rate),
    maxEntries: entries === undefined ? before.maxEntries : entriesOf(entries, whenFull ?? before.maxEntries?.whenFull),
    deadLetter: deadLetter === undefined ? before.deadLetter : deadLetter === none ? undefined : deadLetter,
  }
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))
}

function numberOf(option: string, text: string): number | undefined {
  if (text === none) return undefined
  if (!/^\d+$/.test(text)) throw invalid(option, text, `must be a whole number, or "${none}"`)
  return Number(text)
}

function rateOf(text: string): TopicLimits['rate'] {
  if (text === none) return undefined
  const [, count, perMs] = /^(\d+)\/(\d+)$/.exec(text) ?? []
  if (count === undefined || perMs === undefined)
    throw invalid('--rate', text, `must be a count and milliseconds, such as 100/60000, or "${none}"`)
  return { count: Number(count), perMs: Number(perMs) }
}

function entriesOf(text: string, whenFull: string | undefined): TopicLimits['maxEntries'] {
  const count = numberOf('--max-entries', text)
  return count === undefined ? undefined : { count, whenFull: whenFull === 'drop-oldest' ? 'drop-oldest' : 'reject' }
}
