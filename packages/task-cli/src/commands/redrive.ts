import type { Redrive, RedriveOptions as RedriveVerbOptions, RevivableState, TaskInfo } from '@taskstream/task-api'
import type { Command } from 'commander'
import { previewInstant, runBulk, toBoundFilter, withBulk } from '../core/bulk.ts'
import type { BulkOptions, BulkPreview } from '../core/bulk.ts'
import { openDatabase } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { quoted } from '../core/explain.ts'
import { noTask } from '../core/known.ts'
import { positive, toFilter } from '../core/options.ts'
import { findTask, refHelp, toRef } from '../core/refs.ts'
import { nameOf, stateOf } from '../core/tasks.ts'
import { printDone } from '../output/print.ts'
import { visible } from '../output/visible.ts'

interface RedriveOptions extends BulkOptions {
  readonly try?: number
  readonly error?: string
}

type RedriveFilter = ReturnType<typeof toBoundFilter> &
  Pick<RedriveVerbOptions, 'fingerprint'> & { readonly states: readonly RevivableState[] }

/** A preview reads so many sequences at a time, and a portion writes so many tasks. */
const [previewSize, portion] = [100_000, 1_000]

/** States from which a task that is named comes back. A task that has succeeded is done again only if `--state succeeded` says so. */
const namedStates: readonly RevivableState[] = ['failed', 'expired', 'suspended', 'filtered', 'delayed']

export function addRedrive(program: Command): void {
  withBulk(program.command('redrive').description('make failed tasks ready again, in their old places'))
    .argument('<topic>')
    .argument('[task...]', `only these tasks: ${refHelp}`)
    .option('--try <count>', 'only the first so many, to see whether they succeed now', positive)
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
      const at = await previewInstant(database, topic)
      const states = (options.state ?? ['failed']) as readonly RevivableState[]
      const { error } = options
      const filter: RedriveFilter = { ...toBoundFilter(options, at), states, ...(error !== undefined && { fingerprint: error }) }
      const found = await preview(database, topic, filter, options.limit ?? Infinity)
      const tried = Math.min(options.try ?? Infinity, found.count)
      const detail = found.count === 0 ? '' : `, sequences ${found.first} to ${found.last}`
      const bulkPreview: BulkPreview = {
        at,
        count: tried,
        detail: tried < found.count ? `, of ${found.count.toLocaleString('en')}${detail}` : detail,
      }
      let [from, first, last] = [filter.from, undefined as number | undefined, undefined as number | undefined]
      const count = await runBulk(
        {
          topic,
          action: 'redrive',
          would: 'ready again',
          preview: bulkPreview,
          portion,
          next: async (size) => {
            const done = await database.transactions<Redrive>((transaction) =>
              database.tasks.redrive(transaction, topic, {
                ...filter,
                ...(from !== undefined && { from }),
                to: found.last!,
                limit: size,
              }),
            )
            if (done.last === undefined) return { count: 0, hasMore: false }
            ;[first, last] = [first ?? done.first, done.last]
            // Tasks of one error come in the order in which they failed. Those that fail again have ended after the preview, and are not meant.
            if (error !== undefined) return { count: done.count, hasMore: done.count === size }
            // What was made ready is not looked at again, even if it has failed meanwhile.
            from = done.last + 1
            return { count: done.count, hasMore: done.count === size && done.last < found.last! }
          },
          goOn: () => (from === undefined ? {} : { '--from': String(from) }),
        },
        database,
        options,
      )
      const dryRun = options.dryRun ?? false
      if (dryRun) [first, last] = [found.first, found.last]
      const line = `${dryRun ? 'would be ready again' : 'ready again'}: ${count}${first === undefined ? '' : `, sequences ${first} to ${last}`}`
      printDone({ json: { count, first, last, dryRun }, lines: [line], names: [topic] }, options)
      if (options.try !== undefined && !dryRun && count > 0)
        console.error(visible(`see what becomes of it: taskstream wait ${quoted(topic)} @${first}`))
    })
}

/** What a redrive would do. It reads the topic as far as a redrive does, and writes nothing. */
async function preview({ reading, tasks }: NamedDatabase, topic: string, filter: RedriveFilter, limit: number): Promise<Redrive> {
  let sum: Redrive = { count: 0 }
  let { from } = filter
  while (sum.count < limit) {
    const size = Math.min(previewSize, limit - sum.count)
    const page = await reading<Redrive>((transaction) =>
      tasks.redrive(transaction, topic, { ...filter, ...(from !== undefined && { from }), dryRun: true, limit: size }),
    )
    if (page.count > 0) sum = { count: sum.count + page.count, first: sum.first ?? page.first!, last: page.last! }
    // Tasks of one error do not come by sequence, so the preview has one page of them.
    if (page.count < size || filter.fingerprint !== undefined) break
    from = page.last! + 1
  }
  return sum
}

async function redriveNamed(
  database: NamedDatabase,
  topic: string,
  refs: readonly string[],
  options: RedriveOptions,
): Promise<void> {
  const { states = namedStates } = toFilter(options)
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
  const done: TaskInfo[] = []
  await database.transactions(async (transaction) => {
    for (const task of found.toSorted((left, right) => left.sequence - right.sequence)) {
      const { sequence } = task
      const one = { states: states as readonly RevivableState[], from: sequence, to: sequence, dryRun }
      const { count }: Redrive = await database.tasks.redrive(transaction, topic, one)
      if (count > 0) done.push(task)
    }
  })
  for (const task of found)
    if (!done.includes(task)) console.error(visible(`${nameOf(task)} stays as it is: it is ${stateOf(task)}`))
  const line = `${dryRun ? 'would be ready again' : 'ready again'}: ${done.map(nameOf).join(' ') || 'none'}`
  printDone(
    {
      json: { count: done.length, sequences: done.map(({ sequence }) => sequence), dryRun },
      lines: [line],
      names: done.map(nameOf),
    },
    options,
  )
}
