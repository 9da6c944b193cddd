import { setTimeout as sleep } from 'node:timers/promises'
import { filterStates, taskToString } from '@taskstream/task-api'
import type { FilterState, Task, TaskEnding, TaskInfo } from '@taskstream/task-api'
import { Option } from 'commander'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { CommandError } from '../core/exit-codes.ts'
import { noTask } from '../core/known.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { findTask, refHelp, toRef } from '../core/refs.ts'
import { stateOf } from '../core/tasks.ts'
import { span } from '../core/time.ts'
import { duration } from '../output/duration.ts'
import { printDone } from '../output/print.ts'

interface WaitOptions extends CommonOptions {
  readonly for: FilterState | 'ended'
  readonly timeout?: number
}

/** A look at the task, after a wait that doubles from the first to the second. */
const [firstMs, mostMs] = [50, 2_000]

export function addWait(program: Command): void {
  withCommon(program.command('wait').description('wait until a task has ended, or is in a state'))
    .argument('<topic>')
    .argument('<task>', refHelp)
    .addOption(new Option('--for <state>', 'what to wait for').choices(['ended', ...filterStates]).default('ended'))
    .option('--timeout <time>', 'for how long, such as 60s; then the exit code is 4 (default: without end)', span)
    .addHelpText(
      'after',
      `
If a handler has another task go on with the work, the wait is for that one too. A task that has ended otherwise than was waited for ends the wait,
with exit code 4.

Examples:
  taskstream wait invoices @4711
  taskstream wait invoices inv-7 --for succeeded --timeout 60s`,
    )
    .action(async (topic: string, text: string, { for: wanted, timeout, ...options }: WaitOptions) => {
      const ref = toRef(text)
      await using database = await openDatabase(options)
      const begun = performance.now()
      const first = await database.reading((transaction) => findTask(database, transaction, topic, ref))
      if (first === undefined) throw noTask(topic, text, database.place)
      for (let pause = firstMs; ; pause = Math.min(pause * 2, mostMs)) {
        const look = await lookAt(database, first)
        if (look === undefined) throw new CommandError('missing', `${taskToString(first)} is no longer there: it was purged`)
        const told = `${taskToString(first)}${look.wentOnAs ? `, which went on as ${taskToString(look.wentOnAs)}` : ''}`
        const name = look.wentOnAs ? `${told},` : told
        if (wanted === 'ended' ? look.ended : look.state === wanted) {
          const json = { topic, sequence: first.sequence, identifier: first.identifier, state: look.state }
          return printDone({ json, lines: [`${look.state}: ${told}`], names: [`@${first.sequence}`] }, options)
        }
        if (look.ended) throw new CommandError('no', `${name} has ended, and is ${look.state}, not ${wanted}`)
        const left = (timeout ?? Infinity) - (performance.now() - begun)
        if (left <= 0) throw new CommandError('no', `${name} is still ${look.state} after ${duration(timeout!)}, not ${wanted}`)
        await sleep(Math.min(pause, left))
      }
    })
}

interface Look {
  readonly state: FilterState
  readonly ended: boolean
  readonly wentOnAs?: Task
}

/** The state of the task, or of the last task that went on with its work. */
async function lookAt({ reading, tasks }: NamedDatabase, { topic, sequence }: TaskInfo): Promise<Look | undefined> {
  return reading(async (transaction) => {
    const [ending]: readonly (TaskEnding | undefined)[] = await tasks.endings(transaction, [{ topic, sequence }])
    if (ending === undefined) return undefined
    const task: TaskInfo | undefined = await tasks.task(transaction, ending.task.topic, ending.task.sequence)
    const isAnother = task && (task.topic !== topic || task.sequence !== sequence)
    const state = task === undefined ? ending.state : stateOf(task)
    return { state, ended: ending.ended, ...(isAnother && { wentOnAs: task }) }
  })
}
