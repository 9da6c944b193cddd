/** Commands that write every task that meets a filter: preview, confirmation, portions, and how to go on after a stop. */
import type { FilterState, JsonValue, TaskCount, TaskFilter } from '@taskstream/task-api'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { visible } from '../output/visible.ts'
import { confirmWrite, withConfirmation } from './confirm.ts'
import type { ConfirmOptions } from './confirm.ts'
import type { NamedDatabase } from './database.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { explain } from './explain.ts'
import { goOn } from './go-on.ts'
import { whileStoppable } from './interrupt.ts'
import { positive, toFilter, withCommon, withFilter } from './options.ts'
import type { CommonOptions, FilterOptions } from './options.ts'
import { checkTopicKnown } from './known.ts'
import { inPortions } from './portions.ts'
import type { Portion } from './portions.ts'
import { personOf } from './person.ts'
import { withoutSecrets } from './secrets.ts'
import { counted } from './progress.ts'
import { toInstant } from './time.ts'

export interface BulkOptions extends CommonOptions, FilterOptions, ConfirmOptions {
  readonly limit?: number
  readonly rate?: number
  readonly changedBefore?: string
}

export interface Bulk {
  readonly topic: string
  /** The name of the command, for the audit. */
  readonly action: string
  /** What is done to the tasks, as in `31,210 tasks would be ready again`. */
  readonly would: string
  /** What was previewed. */
  readonly preview: BulkPreview
  readonly isGrave?: boolean
  /** How many tasks a portion has at most. */
  readonly portion: number
  readonly next: (size: number) => Promise<Portion>
  /** Options to go on with, instead of those that were given; undefined leaves one out. */
  readonly goOn?: () => Readonly<Record<string, string | undefined>>
}

export interface BulkPreview {
  readonly count: number
  /** What the preview says besides the count. */
  readonly detail?: string
  /** The instant of the preview, by the database's clock. */
  readonly at: Date
}

export function withBulk(command: Command): Command {
  return withConfirmation(withFilter(withCommon(command)))
    .option(
      '--changed-before <instant>',
      'only tasks that ended, or else were pushed, before this instant (default: the preview)',
    )
    .option('--limit <count>', 'how many tasks at most (default: all)', positive)
    .option('--rate <count/s>', 'how many tasks a second at most, such as 50/s', rate)
}

/** The filter of the options, and the bound that keeps out what changes after the preview. */
export function toBoundFilter(options: BulkOptions, at: Date): Omit<TaskFilter, 'states'> & { readonly changedBefore: Date } {
  const { states: _states, ...filter } = toFilter(options)
  return {
    ...filter,
    changedBefore: options.changedBefore === undefined ? at : toInstant('--changed-before', options.changedBefore),
  }
}

/** Reads the database's clock. @throws TaskError TOPIC_UNKNOWN */
export async function previewInstant(database: NamedDatabase, topic: string): Promise<Date> {
  await checkTopicKnown(database, topic)
  const { reading, tasks } = database
  return new Date(await reading<number>((transaction) => tasks.timers.now(transaction, topic)))
}

/** Counts exactly the tasks in these states that meet a filter, up to the limit. */
export async function countTasks(
  { reading, tasks }: NamedDatabase,
  topic: string,
  filter: TaskFilter & { readonly states: readonly FilterState[] },
  limit: number = Infinity,
): Promise<number> {
  const counts = await reading<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
    tasks.count(transaction, { ...filter, topic }),
  )
  const all = [...(counts.get(topic)?.values() ?? [])].reduce((sum, { count }) => sum + count, 0)
  return Math.min(all, limit)
}

/**
 * Shows the preview, asks, and writes in portions.
 *
 * @returns how many tasks were written; the preview's count with `dryRun`
 * @throws CommandError refused, if it is not confirmed; what stopped the portions, once it was said how to go on
 */
export async function runBulk(bulk: Bulk, database: NamedDatabase, options: BulkOptions): Promise<number> {
  const { count, detail, at } = bulk.preview
  if (options.dryRun || count === 0) return count
  const preview = `${counted(count)} ${count === 1 ? 'task' : 'tasks'} of ${bulk.topic} would be ${bulk.would}${detail ?? ''}`
  await confirmWrite({ preview, count, isGrave: bulk.isGrave ?? false }, database, options)
  const { portion, next } = bulk
  const { done, stopped } = await whileStoppable((signal) =>
    inPortions({ total: count, portion, signal, next, ...(options.rate !== undefined && { perSecond: options.rate }) }),
  )
  if (done > 0) await recordDone(bulk, done, database, options)
  if (stopped === undefined) return done
  const rest = {
    '--changed-before': options.changedBefore ?? at.toISOString(),
    ...(options.limit !== undefined && { '--limit': String(options.limit - done) }),
    '--try': undefined,
    ...bulk.goOn?.(),
  }
  const command = goOn(process.argv.slice(2), rest)
  console.error(visible(`stopped after ${counted(done)} of ${counted(count)}; go on with: ${command}`))
  if (stopped.error !== undefined) throw stopped.error
  process.exitCode = exitCodes.interrupted
  return done
}

/** Remembers who did it. What was done stays done, also where the audit cannot be written. */
async function recordDone({ action, topic }: Bulk, count: number, database: NamedDatabase, options: BulkOptions): Promise<void> {
  const { states, ...filter } = toFilter(options)
  const chosen = { ...filter, ...(states && { states }) } as JsonValue
  try {
    await database.transactions<string>((transaction) =>
      database.tasks.record(transaction, { action, topic, actor: personOf(), via: 'cli', count, filter: chosen }),
    )
  } catch (error) {
    console.error(withoutSecrets(`the audit was not written: ${explain(error)}`))
  }
}

/** @throws CommandError usage, unless tasks are chosen, so that an option that was forgotten does not mean all of them */
export function checkChosen(options: FilterOptions, command: string): void {
  if (Object.keys(toFilter(options)).length === 0)
    throw new CommandError(
      'usage',
      `which tasks? Name them, or choose them by --state, --identifier, --reference, --from or --to: taskstream ${command} --help`,
    )
}

function rate(text: string): number {
  const value = Number(/^(\d+(?:\.\d+)?)\/s$/.exec(text)?.[1])
  if (!(value >= 0.01 && value <= 1_000_000)) throw new InvalidArgumentError('It must be a count a second, such as 50/s.')
  return value
}
