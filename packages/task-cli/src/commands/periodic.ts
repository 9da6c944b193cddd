import { invalid, TaskError, taskToString } from '@taskstream/task-api'
import { addTimer, removeTimers, runTimer, switchTimers } from '@taskstream/task-operations'
import { allPeriodicTasks, periodicTasks } from '@taskstream/task-scheduler'
import type { Misfire, PeriodicTask, PeriodicTaskInfo, PeriodicTasks } from '@taskstream/task-scheduler'
import { Option } from 'commander'
import type { Command } from 'commander'
import { tellUndo } from '../core/bulk.ts'
import { openDatabase } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { operatorOf } from '../core/operator.ts'
import { integer, withCommon } from '../core/options.ts'
import { exitCodes } from '../core/exit-codes.ts'
import type { CommonOptions } from '../core/options.ts'
import type { Column } from '../output/column.ts'
import { printDone, printList } from '../output/print.ts'

interface ScopeOptions extends CommonOptions {
  readonly scope?: string
}

interface AddOptions extends ScopeOptions {
  readonly input?: string
  readonly identifier?: string
  readonly name?: string
  readonly summary?: string
  readonly priority?: number
  readonly maxTries?: number
  readonly misfire?: Misfire
  readonly lateMs?: number
  readonly whileUnfinished?: 'skip' | 'push'
  readonly jitterMs?: number
  readonly start?: string
  readonly end?: string
  readonly maxCount?: number
  readonly paused?: true
  readonly replace?: true
}

export const periodicColumns: readonly Column<PeriodicTaskInfo>[] = [
  { name: 'scope', rank: 5, kind: 'identifier', value: ({ scope }) => scope },
  { name: 'id', rank: 0, kind: 'identifier', value: ({ id }) => id },
  { name: 'timer', rank: 2, kind: 'text', value: ({ timer }) => timer },
  { name: 'topic', rank: 3, kind: 'identifier', value: ({ topic }) => topic },
  {
    name: 'status',
    rank: 0,
    kind: 'text',
    value: ({ status, note }) => (note === undefined ? status : `${status}: ${note}`),
  },
  { name: 'next', rank: 1, kind: 'due', value: ({ next }) => next },
  { name: 'fired', rank: 6, kind: 'number', value: ({ fired }) => fired },
  { name: 'skipped', rank: 7, kind: 'number', value: ({ skipped }) => skipped },
  { name: 'summary', rank: 4, kind: 'text', value: ({ summary }) => summary },
]

export function addPeriodic(program: Command): void {
  const periodic = program.command('periodic').description('manage periodic tasks, which timers submit')
  addLs(periodic)
  addAdd(periodic)
  addPauses(periodic)
  addRun(periodic)
  addRm(periodic)
}

function withScope(command: Command, without = 'system'): Command {
  return withCommon(command).option('--scope <scope>', `the scope of the timers (default: ${without})`)
}

function addLs(periodic: Command): void {
  withScope(periodic.command('ls').description('list the timers of a scope, or of every scope'), 'every scope')
    .option('--name <name>', 'only timers with this name')
    .addHelpText('after', '\nExample:\n  taskstream periodic ls --url sqlite:tasks.db')
    .action(async ({ name, ...options }: ScopeOptions & { readonly name?: string }) => {
      await using database = await openDatabase(options)
      const filter = name === undefined ? {} : { name }
      const list = options.scope === undefined ? allPeriodicTasks(database.tasks) : timersOf(database, options).list
      const infos = await database.reading<PeriodicTaskInfo[]>((transaction) => list(transaction, filter))
      printList({ columns: periodicColumns, rows: infos, name: ({ id }) => id }, options)
    })
}

function addAdd(periodic: Command): void {
  withScope(periodic.command('add').description('add a timer that submits tasks to a topic'))
    .argument('<id>')
    .argument('<timer>', 'a calendar event, cron:<pattern>, or every:<duration>')
    .argument('<topic>')
    .option('--input <text>', 'the input of each task')
    .option('--identifier <text>', 'the identifier of each task (default: the id)')
    .option('--name <name>', 'the name of the timer: what kind of task it submits')
    .option('--summary <text>', 'what the timer is for')
    .option('--priority <number>', 'the priority of each task', integer)
    .option('--max-tries <count>', 'how many tries each task has', integer)
    .addOption(
      new Option('--misfire <policy>', 'what to do about missed occurrences').choices([
        'once',
        'skip',
        'catch-up',
        'drop',
      ] satisfies Misfire[]),
    )
    .option('--late-ms <ms>', 'do not submit an occurrence that is later than this', integer)
    .addOption(
      new Option('--while-unfinished <policy>', 'what to do about an occurrence if the previous task has not ended').choices([
        'skip',
        'push',
      ]),
    )
    .option('--jitter-ms <ms>', 'submit each occurrence up to this much later', integer)
    .option('--start <instant>', 'no occurrence before this instant, such as 2026-12-31T23:00:00Z')
    .option('--end <instant>', 'no occurrence after this instant')
    .option('--max-count <count>', 'submit this many tasks at most', integer)
    .option('--paused', 'add the timer paused: it submits nothing until it is resumed')
    .option('--replace', 'change the timer of this id, if there is one')
    .addHelpText(
      'after',
      `
Examples:
  taskstream periodic add housekeeping 'Mon..Fri 02:30 Europe/Oslo' chores
  taskstream periodic add invoices 'monthly' billing --input '{"run":"all"}' --misfire catch-up`,
    )
    .action(async (id: string, timer: string, topic: string, { replace, start, end, ...options }: AddOptions) => {
      await using database = await openDatabase(options)
      const timers = timersOf(database, options)
      const given = definitionOf(options)
      const task: PeriodicTask = {
        id,
        timer,
        topic,
        ...given,
        ...(start !== undefined && { start: toInstant('--start', start) }),
        ...(end !== undefined && { end: toInstant('--end', end) }),
      }
      const { done, id: audit } = await addTimer(operatorOf(database), timers.scope, task, replace)
      const info = await database.transactions<PeriodicTaskInfo | undefined>((transaction) => timers.get(transaction, id))
      const next =
        info?.status === 'ended' ? `never again: ${info.note}` : `next ${info?.next?.toISOString() ?? 'when it is resumed'}`
      printDone({ json: { done, ...info, audit }, lines: [`${done}: ${id}, ${next}`], names: [id] }, options)
      tellUndo(audit, done === 'added' ? 'timer add' : 'timer change')
    })
}

function addPauses(periodic: Command): void {
  for (const [name, done, description] of [
    ['pause', 'paused', 'submit nothing for timers until they are resumed'],
    ['resume', 'resumed', 'submit tasks for timers again, from now on'],
  ] as const) {
    withScope(periodic.command(name).description(description))
      .argument('[id...]')
      .option('--all', 'every timer of the scope')
      .addHelpText('after', `\nExamples:\n  taskstream periodic ${name} housekeeping\n  taskstream periodic ${name} --all`)
      .action(async (ids: string[], options: ScopeOptions & { readonly all?: true }) => {
        if (ids.length > 0 === (options.all === true))
          throw new TaskError('ARGUMENT_INVALID', `Which timers? Give their ids, or --all`)
        await using database = await openDatabase(options)
        const chosen = { scope: options.scope ?? 'system', ...(options.all ? {} : { ids }) }
        const { ids: all, id } = await switchTimers(operatorOf(database), chosen, name)
        const changed = all.length
        printDone({ json: { [done]: changed, audit: id }, lines: [`${done}: ${changed}`], names: ids }, options)
        tellUndo(id, name)
      })
  }
}

function addRun(periodic: Command): void {
  withScope(periodic.command('run').description('submit a task of a timer now; its next occurrence stays as it is'))
    .argument('<id>')
    .addHelpText('after', '\nExample:\n  taskstream periodic run housekeeping')
    .action(async (id: string, options: ScopeOptions) => {
      await using database = await openDatabase(options)
      const { submitted, unfinished, id: audit } = await runTimer(operatorOf(database), options.scope ?? 'system', id)
      if (unfinished !== undefined) process.exitCode = exitCodes.no
      const line = submitted
        ? `submitted: ${taskToString(submitted)}`
        : `nothing submitted: its task @${unfinished} has not ended`
      const json = submitted ? { submitted, audit } : { unfinished }
      printDone({ json, lines: [line], names: submitted ? [`@${submitted.sequence}`] : [] }, options)
      tellUndo(audit, 'timer run')
    })
}

function addRm(periodic: Command): void {
  withScope(periodic.command('rm').description('remove timers; tasks that were submitted stay'))
    .argument('<id...>')
    .addHelpText('after', '\nExample:\n  taskstream periodic rm housekeeping')
    .action(async (ids: string[], options: ScopeOptions) => {
      await using database = await openDatabase(options)
      const { id: audit } = await removeTimers(operatorOf(database), options.scope ?? 'system', ids)
      printDone({ json: { removed: ids, audit }, lines: [`removed: ${ids.join(', ')}`], names: ids }, options)
      tellUndo(audit, 'timer remove')
    })
}

/** What the options say of the timer itself. */
function definitionOf(options: Omit<AddOptions, 'replace' | 'start' | 'end'>): Partial<PeriodicTask> {
  const { input, identifier, name, summary, priority, maxTries, misfire, lateMs, whileUnfinished, jitterMs, maxCount, paused } =
    options
  const given = {
    input,
    identifier,
    name,
    summary,
    priority,
    maxTries,
    misfire,
    lateMs,
    whileUnfinished,
    jitterMs,
    maxCount,
    paused,
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function timersOf({ tasks }: NamedDatabase, { scope }: ScopeOptions): PeriodicTasks<unknown> {
  return periodicTasks(tasks, scope === undefined ? {} : { scope }) as PeriodicTasks<unknown>
}

function toInstant(option: string, text: string): Date {
  const instant = new Date(text)
  if (Number.isNaN(instant.getTime())) throw invalid(option, text, 'must be an instant, such as 2026-12-31T23:00:00Z')
  return instant
}
