import { undo } from '@taskstream/task-operations'
import type { Undone } from '@taskstream/task-operations'
import type { Command } from 'commander'
import { confirmContext, withContextName } from '../core/confirm.ts'
import type { ConfirmOptions } from '../core/confirm.ts'
import { openDatabase } from '../core/database.ts'
import { exitCodes } from '../core/exit-codes.ts'
import { whileStoppable } from '../core/interrupt.ts'
import { operatorOf } from '../core/operator.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { counted, Progress } from '../core/progress.ts'
import { printDone } from '../output/print.ts'
import { visible } from '../output/visible.ts'

interface UndoOptions extends CommonOptions, Pick<ConfirmOptions, 'confirm' | 'dryRun'> {
  readonly note?: string
}

export function addUndo(program: Command): void {
  withContextName(withCommon(program.command('undo').description('make what an action has changed again what it was before')))
    .argument('<id>', 'the id of the action, as taskstream audit shows it')
    .option('--dry-run', 'only say what would be undone')
    .option('--note <text>', 'why')
    .addHelpText(
      'after',
      `
redrive, cancel, reschedule, run-now and reassign are undone for the tasks that nobody has touched since; pause, resume, limits,
node quiet and node resume, and pauses and runs of timers, unless somebody has changed that since. A task that was at work when it
was cancelled becomes ready. Nothing undoes purge, topic create and destroy, periodic add and rm, repair, and undo itself.

Examples:
  taskstream audit invoices
  taskstream undo 5e1c0a9b7f21 --dry-run`,
    )
    .action(async (id: string, { dryRun = false, note, ...options }: UndoOptions) => {
      await using database = await openDatabase(options)
      const operator = operatorOf(database, note)
      const { of } = await undo(operator, id, { dryRun: true })
      if (!dryRun) await confirmContext({ count: of }, database, options)
      const progress = new Progress(of)
      const done = await whileStoppable((signal) =>
        undo(operator, id, { dryRun, signal, onProgress: (tasks) => progress.update(tasks) }),
      ).finally(() => progress.end())
      const { undone, action, topic, stopped } = done
      const what = topic === undefined ? action : `${action} of ${topic}`
      const kept = keptOf(done)
      const line = `${dryRun ? 'would be undone' : 'undone'}: ${counted(undone)} of ${counted(done.of)} (${what})`
      const { stopped: _stopped, ...json } = done
      printDone({ json: { ...json, dryRun }, lines: [line, ...kept], names: [done.id] }, options)
      if (stopped)
        console.error(visible(`stopped after ${counted(done.of)} of ${counted(of)}; go on with: taskstream undo ${id}`))
      if (stopped?.error !== undefined) throw stopped.error
      if (stopped) process.exitCode = exitCodes.interrupted
      else if (undone === 0) process.exitCode = exitCodes.no
    })
}

/** Why the others are not what they were. */
function keptOf({ taken, changed, overtaken, lost }: Undone): readonly string[] {
  const because: readonly (readonly [number, string])[] = [
    [taken, 'run since, or at work now'],
    [changed, 'changed since, or deleted'],
    [overtaken, 'overtaken since by a later task of the identifier'],
    [lost, 'succeeded before: what was returned is gone'],
  ]
  return because.flatMap(([count, why]) => (count === 0 ? [] : [`left as they are: ${counted(count)}, ${why}`]))
}
