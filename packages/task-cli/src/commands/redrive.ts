import type { TaskInfo } from '@taskstream/task-api'
import { preview } from '@taskstream/task-operations'
import type { ActionRequest } from '@taskstream/task-operations'
import type { Command } from 'commander'
import { filterGiven, runBulk, runNamed, tellUndo, withBulk } from '../core/bulk.ts'
import type { BulkOptions } from '../core/bulk.ts'
import { openDatabase } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { quoted } from '../core/explain.ts'
import { noTask } from '../core/known.ts'
import { operatorOf } from '../core/operator.ts'
import { positive } from '../core/options.ts'
import { findTask, refHelp, toRef } from '../core/refs.ts'
import { nameOf, stateOf } from '../core/tasks.ts'
import { printDone } from '../output/print.ts'
import { visible } from '../output/visible.ts'

interface RedriveOptions extends BulkOptions {
  readonly try?: number
  readonly error?: string
}

export function addRedrive(program: Command): void {
  withBulk(program.command('redrive').description('make failed tasks ready again, in their old places'))
    .argument('<topic>')
    .argument('[task...]', `only these tasks: ${refHelp}`)
    .option('--try <count>', 'only the newest so many, to see whether they succeed now', positive)
    .option('--error <fingerprint>', 'only tasks whose last attempt failed by this error, as taskstream errors names it')
    .addHelpText(
      'after',
      `
Without --state, failed tasks are meant.

Examples:
  taskstream redrive invoices @4402
  taskstream redrive invoices --dry-run
  taskstream redrive invoices --reference run-7 --try 1
  taskstream redrive invoices --state expired --state failed --rate 50/s --yes`,
    )
    .action(async (topic: string, refs: readonly string[], options: RedriveOptions) => {
      await using database = await openDatabase(options)
      if (refs.length > 0) return await redriveNamed(database, topic, refs, options)
      const { error } = options
      const request: ActionRequest = {
        action: 'redrive',
        topic,
        filter: filterGiven(options),
        ...(error !== undefined && { fingerprint: error }),
        ...(options.try !== undefined && { try: options.try }),
      }
      const { count, first, last, dryRun, audit } = await runBulk({ request, would: 'ready again' }, database, options)
      const range = first === undefined ? '' : `, sequences ${first} to ${last}`
      const line = `${dryRun ? 'would be ready again' : 'ready again'}: ${count}${range}`
      printDone({ json: { count, first, last, dryRun, audit }, lines: [line], names: [topic] }, options)
      if (options.try !== undefined && !dryRun && count > 0)
        console.error(visible(`see what becomes of it: taskstream wait ${quoted(topic)} @${first}`))
    })
}

async function redriveNamed(
  database: NamedDatabase,
  topic: string,
  refs: readonly string[],
  options: RedriveOptions,
): Promise<void> {
  const filter = filterGiven(options)
  const dryRun = options.dryRun ?? false
  const found = await database.reading(async (transaction) => {
    const tasks: TaskInfo[] = []
    for (const text of refs) {
      const task = await findTask(database, transaction, topic, toRef(text))
      if (task === undefined) throw noTask(topic, text, database.place)
      tasks.push(task)
    }
    return tasks
  })
  const named = [found.map(({ sequence }) => sequence)]
  const request: ActionRequest = { action: 'redrive', topic, filter, named }
  const { id, tasks } = dryRun
    ? { ...(await preview(operatorOf(database), request)), id: undefined }
    : await runNamed(database, request)
  const done = tasks.map(({ sequence }) => found.find((task) => task.sequence === sequence)!)
  for (const task of found)
    if (!done.includes(task)) console.error(visible(`${nameOf(task)} stays as it is: it is ${stateOf(task)}`))
  for (const { state, reason, sequence } of dryRun ? [] : done)
    if (state === 'failed' && reason === 'unreachable')
      console.error(visible(`@${sequence} waits again for what it needs: taskstream why ${quoted(topic)} @${sequence}`))
  const line = `${dryRun ? 'would be ready again' : 'ready again'}: ${done.map(nameOf).join(' ') || 'none'}`
  printDone(
    {
      json: { count: done.length, sequences: done.map(({ sequence }) => sequence), dryRun, audit: id },
      lines: [line],
      names: done.map(nameOf),
    },
    options,
  )
  tellUndo(id, 'redrive')
}
