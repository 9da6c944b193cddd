import type { Activation, Diagnosis, DiagnosisCode, ErrorGroup } from '@taskstream/task-api'
import type { Command } from 'commander'
import { openDatabase } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { CommandError } from '../core/exit-codes.ts'
import { quoted } from '../core/explain.ts'
import { integer, withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { span } from '../core/time.ts'
import type { Column } from '../output/column.ts'
import { formatOf } from '../output/format.ts'
import { printList } from '../output/print.ts'
import { visible } from '../output/visible.ts'

interface ErrorsOptions extends CommonOptions {
  readonly since?: number
  readonly limit: number
}

export function addErrors(program: Command): void {
  withCommon(program.command('errors').description('show what fails, by kind of error: how often, since when, in which release'))
    .argument('[topic]', 'only this topic')
    .argument('[fingerprint]', 'only this error')
    .option('--since <span>', 'only attempts of the last 15m, 2h or 3d', span)
    .option('--limit <count>', 'how many attempts of each topic are looked at, the latest ones', integer, 5_000)
    .addHelpText(
      'after',
      `
Without a topic, the first 200 that have errors are looked at, by name. Of count attempts, open says how many tasks have failed by it and are still so, and
pending how many are still to be done.

Tasks that are failed by one error: taskstream redrive <topic> --error <fingerprint>

Examples:
  taskstream errors
  taskstream errors invoices --since 2h`,
    )
    .action(async (topic: string | undefined, fingerprint: string | undefined, options: ErrorsOptions) => {
      const { since, limit, ...common } = options
      await using database = await openDatabase(common)
      const groups = await database.reading<readonly ErrorGroup[]>((transaction) =>
        database.tasks.errors(transaction, {
          limit,
          ...(topic !== undefined && { topic }),
          ...(since !== undefined && { withinMs: since }),
        }),
      )
      const rows = fingerprint === undefined ? groups : groups.filter((group) => group.fingerprint.startsWith(fingerprint))
      if (rows.length === 0 && fingerprint !== undefined)
        throw new CommandError('missing', `no error ${fingerprint} in topic "${topic}" (list them: taskstream errors)`)
      printList({ columns: errorColumns, rows, name: (group) => group.fingerprint }, common)
      if (!['table', 'wide'].includes(formatOf(common))) return
      for (const group of rows.slice(0, mostExplained))
        for (const line of await remediesOf(database, group)) console.log(visible(`  try: ${line}`))
    })
}

/** For how many errors the commands that help are shown. They are the most frequent of a topic. */
const mostExplained = 3

/** Where a task is whose error harms no longer. */
const past: ReadonlySet<DiagnosisCode> = new Set(['unknown', 'succeeded', 'failed', 'filtered', 'recreated', 'redundant'])

/** A shell passes over the comments, so the lines can be copied as they are. */
async function remediesOf({ reading, tasks }: NamedDatabase, group: ErrorGroup): Promise<readonly string[]> {
  const { fingerprint, error, open } = group
  const topic = quoted(group.topic)
  if (open > 0) {
    const redrive = `taskstream redrive ${topic} --error ${fingerprint}`
    return [`${redrive} --try 1  # one first, once its cause is mended`, `${redrive}  # then the rest`]
  }
  const { code, isPaused } = await reading(async (transaction) => {
    const activations = (await tasks.activations(transaction)) as ReadonlyMap<string, Activation>
    const told = (await tasks.why(transaction, group.topic, group.lastSequence)) as Diagnosis
    return { code: told.code, isPaused: activations.get(group.topic)?.active === false }
  })
  if (past.has(code)) return []
  if (isPaused) return [`taskstream resume ${topic}  # once its cause is mended`]
  return [`taskstream pause ${topic} --note ${quoted(visible(error))}  # if more tries do harm: they go on by themselves`]
}

export const errorColumns: readonly Column<ErrorGroup>[] = [
  { name: 'topic', rank: 1, kind: 'identifier', value: ({ topic }) => topic },
  { name: 'count', rank: 0, kind: 'number', value: ({ count }) => count },
  { name: 'open', rank: 1, kind: 'number', value: ({ open }) => open },
  { name: 'pending', rank: 4, kind: 'number', value: ({ pending }) => pending },
  { name: 'error', rank: 0, kind: 'text', value: ({ error }) => error },
  { name: 'first', rank: 3, kind: 'instant', value: ({ first }) => first },
  { name: 'first in', rank: 2, kind: 'text', value: ({ firstRelease }) => firstRelease },
  { name: 'last', rank: 3, kind: 'instant', value: ({ last }) => last },
  { name: 'last task', rank: 5, kind: 'number', value: ({ lastSequence }) => lastSequence },
  { name: 'fingerprint', rank: 0, kind: 'word', value: ({ fingerprint }) => fingerprint },
]
