/** Commands that write every task that meets a filter: preview, confirmation, portions, and how to go on after a stop. */
import type { TaskFilter } from '@taskstream/task-api'
import { act, isUndoable, preview } from '@taskstream/task-operations'
import type { Acted, ActionPreview, ActionRequest } from '@taskstream/task-operations'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { visible } from '../output/visible.ts'
import { confirmWrite, withConfirmation } from './confirm.ts'
import type { ConfirmOptions } from './confirm.ts'
import type { NamedDatabase } from './database.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { goOn } from './go-on.ts'
import { whileStoppable } from './interrupt.ts'
import { positive, toFilter, withCommon, withFilter } from './options.ts'
import type { CommonOptions, FilterOptions } from './options.ts'
import { checkTopicKnown } from './known.ts'
import { operatorOf } from './operator.ts'
import { counted, Progress } from './progress.ts'
import { toInstant } from './time.ts'

export interface BulkOptions extends CommonOptions, FilterOptions, ConfirmOptions {
  readonly limit?: number
  readonly rate?: number
  readonly changedBefore?: string
}

export interface Bulk {
  readonly request: ActionRequest
  /** What is done to the tasks, as in `31,210 tasks would be ready again`. */
  readonly would: string
  readonly isGrave?: boolean
  /** The instant of the preview, if it is not now. */
  readonly asOf?: Date
  /** Options to go on with, instead of those that were given; undefined leaves one out. */
  readonly goOn?: Readonly<Record<string, string | undefined>>
}

export interface BulkDone {
  /** How many tasks were changed; in a dry run, how many would be. */
  readonly count: number
  readonly first?: number
  readonly last?: number
  /** The id of the action in the audit. */
  readonly audit?: string
  readonly dryRun: boolean
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

/** The filter of the options. */
export function filterGiven(options: BulkOptions): TaskFilter {
  const { changedBefore } = options
  return {
    ...toFilter(options),
    ...(changedBefore !== undefined && { changedBefore: toInstant('--changed-before', changedBefore) }),
  }
}

/** Reads the database's clock. @throws TaskError TOPIC_UNKNOWN */
export async function previewInstant(database: NamedDatabase, topic: string): Promise<Date> {
  await checkTopicKnown(database, topic)
  const { reading, tasks } = database
  return new Date(await reading<number>((transaction) => tasks.timers.now(transaction, topic)))
}

/**
 * Shows the preview, asks, and writes in portions.
 *
 * @throws CommandError refused, if it is not confirmed; what stopped the portions, once it was said how to go on
 */
export async function runBulk(
  { request, would, isGrave = false, asOf: bound, goOn: otherwise }: Bulk,
  database: NamedDatabase,
  options: BulkOptions,
): Promise<BulkDone> {
  const { topic, action } = request
  const { dryRun = false, limit, rate } = options
  await checkTopicKnown(database, topic)
  const operator = operatorOf(database)
  const found = await preview(operator, request, { ...(limit !== undefined && { limit }), ...(bound && { asOf: bound }) })
  const { count, of, asOf, last } = found
  const ends = endsOf(found)
  if (dryRun || count === 0) return { count, dryRun, ...ends }
  const range = ends.first === undefined ? '' : `, sequences ${ends.first} to ${ends.last}`
  const some = count < of ? `, of ${counted(of)}` : ''
  const text = `${counted(count)} ${count === 1 ? 'task' : 'tasks'} of ${topic} would be ${would}${some}${range}`
  await confirmWrite({ preview: text, count, isGrave }, database, options)
  const progress = new Progress(count)
  const done = await whileStoppable((signal) =>
    act(operator, request, {
      asOf,
      limit: count,
      signal,
      onProgress: (tasks) => progress.update(tasks),
      ...(last !== undefined && { to: last }),
      ...(rate !== undefined && { perSecond: rate }),
    }),
  ).finally(() => progress.end())
  if (done.stopped !== undefined) {
    const rest = {
      '--changed-before': options.changedBefore ?? asOf.toISOString(),
      ...(limit !== undefined && { '--limit': String(limit - done.count) }),
      '--try': undefined,
      ...(done.next?.from !== undefined && { '--from': String(done.next.from) }),
      ...otherwise,
    }
    const command = goOn(process.argv.slice(2), rest)
    console.error(visible(`stopped after ${counted(done.count)} of ${counted(count)}; go on with: ${command}`))
  }
  tellUndo(done.id, action)
  if (done.stopped?.error !== undefined) throw done.stopped.error
  if (done.stopped !== undefined) process.exitCode = exitCodes.interrupted
  return {
    count: done.count,
    dryRun,
    ...(done.first !== undefined && { first: done.first }),
    ...(done.last !== undefined && { last: done.last }),
    ...(done.id !== undefined && { audit: done.id }),
  }
}

/** Of the newest tasks, and of those of one error, not all are known before. */
function endsOf({ count, of, tasks, last }: ActionPreview): Pick<BulkDone, 'first' | 'last'> {
  // Of fewer tasks than there are, the last is known only if all of them are shown.
  const end = count <= tasks.length ? tasks.at(-1)?.sequence : count === of ? last : undefined
  return tasks[0] === undefined || end === undefined ? {} : { first: tasks[0].sequence, last: end }
}

/**
 * Does something to tasks that are named, in one transaction.
 *
 * @returns what was done; without tasks nothing was
 */
export async function runNamed(database: NamedDatabase, request: ActionRequest): Promise<Acted> {
  const done = await act(operatorOf(database), request, { asOf: new Date() })
  if (done.stopped !== undefined) throw done.stopped.error
  return done
}

/** Says under which id an action is in the audit, and how to undo it. */
export function tellUndo(id: string | undefined, action: string): void {
  if (id === undefined) return
  const how = isUndoable(action) ? `undo: taskstream undo ${id}` : 'nothing undoes it'
  console.error(`audit: ${id}; ${how}`)
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
