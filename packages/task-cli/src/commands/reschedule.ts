import { taskToString } from '@taskstream/task-api'
import type { Rescheduling, Task } from '@taskstream/task-api'
import type { Command } from 'commander'
import { runNamed, tellUndo } from '../core/bulk.ts'
import { confirmContext, withContextName } from '../core/confirm.ts'
import type { ConfirmOptions } from '../core/confirm.ts'
import { openDatabase } from '../core/database.ts'
import { explainUntouched } from '../core/named-tasks.ts'
import { integer, withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { refHelp, toRef, toSelector } from '../core/refs.ts'
import { toInstant } from '../core/time.ts'
import { printDone } from '../output/print.ts'

type NamedOptions = CommonOptions & Pick<ConfirmOptions, 'confirm'>

interface RescheduleOptions extends NamedOptions {
  readonly due?: string
  readonly delayMs?: number
  readonly deadline?: string
  readonly priority?: number
}

export function addReschedule(program: Command): void {
  withContextName(
    withCommon(program.command('reschedule').description('move tasks that are ready or delayed, in time or by priority')),
  )
    .argument('<topic>')
    .argument('<task...>', refHelp)
    .option('--due <instant>', 'do not poll the tasks before this instant (ISO 8601; UTC without a zone)')
    .option('--delay-ms <ms>', 'for how many milliseconds from now the tasks are not polled; 0: now', integer)
    .option('--deadline <instant>', 'filter the tasks from this instant on, or "none"')
    .option('--priority <number>', 'a higher priority comes sooner, in topics of the order priority', integer)
    .addHelpText(
      'after',
      `
Examples:
  taskstream reschedule invoices @4711 --delay-ms 60000 --priority 100
  taskstream reschedule reminders 'ext:order 7' --due 2027-01-01T08:00:00Z --deadline none`,
    )
    .action((topic: string, refs: readonly string[], options: RescheduleOptions) =>
      reschedule(topic, refs, toRescheduling(options), options),
    )
}

export function addRunNow(program: Command): void {
  withContextName(
    withCommon(program.command('run-now').description('make delayed tasks ready now: reschedule with --delay-ms 0')),
  )
    .argument('<topic>')
    .argument('<task...>', refHelp)
    .addHelpText('after', '\nExample:\n  taskstream run-now invoices @4711 ext:order-7')
    .action((topic: string, refs: readonly string[], options: NamedOptions) => reschedule(topic, refs, { delayMs: 0 }, options))
}

async function reschedule(topic: string, refs: readonly string[], to: Rescheduling, options: NamedOptions): Promise<void> {
  await using database = await openDatabase(options)
  await confirmContext({ count: refs.length }, database, options)
  const named = refs.map((ref) => toSelector(toRef(ref)))
  const { id, tasks } = await runNamed(database, { action: 'reschedule', topic, named, to })
  const moved = tasks.map(({ sequence, identifier }): Task => ({ topic, sequence, identifier }))
  const lines = [...moved.map((task) => `rescheduled ${taskToString(task)}`), `rescheduled: ${moved.length}`]
  printDone({ json: { rescheduled: moved, audit: id }, lines, names: moved.map(({ sequence }) => `@${sequence}`) }, options)
  tellUndo(id, 'reschedule')
  await explainUntouched(database, topic, refs, moved)
}

function toRescheduling({ due, delayMs, deadline, priority }: RescheduleOptions): Rescheduling {
  return {
    ...(due !== undefined && { due: toInstant('--due', due) }),
    ...(delayMs !== undefined && { delayMs }),
    ...(deadline !== undefined && { deadline: deadline === 'none' ? null : toInstant('--deadline', deadline) }),
    ...(priority !== undefined && { priority }),
  }
}
