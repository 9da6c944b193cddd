import type { HeldInfo, NodeInfo } from '@taskstream/task-api'
import { switchNode } from '@taskstream/task-operations'
import type { Command } from 'commander'
import { tellUndo } from '../core/bulk.ts'
import { openDatabase } from '../core/database.ts'
import type { NamedDatabase } from '../core/database.ts'
import { CommandError } from '../core/exit-codes.ts'
import { operatorOf } from '../core/operator.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { span } from '../core/time.ts'
import type { Column } from '../output/column.ts'
import { printDone, printList } from '../output/print.ts'

export function addNodes(program: Command): void {
  withCommon(program.command('nodes').description('show the processes that work on tasks; of one, what it holds'))
    .argument('[owner]', 'the owner of a process, or the beginning of its name')
    .option('--since <span>', 'also processes that were gone for so long', span, 3_600_000)
    .addHelpText('after', '\nExamples:\n  taskstream nodes\n  taskstream nodes worker-2')
    .action(async (owner: string | undefined, { since, ...options }: CommonOptions & { readonly since: number }) => {
      await using database = await openDatabase(options)
      if (owner === undefined) {
        const rows = await read(database, since)
        return printList({ columns: nodeColumns, rows, name: (node) => node.owner }, options)
      }
      const node = await find(database, owner)
      const held = await database.reading<readonly HeldInfo[]>((transaction) =>
        database.tasks.held(transaction, { owner: node.owner }),
      )
      printList(
        { columns: heldColumns, rows: held, name: ({ sequence }) => `@${sequence}`, document: { ...node, held } },
        options,
      )
    })
  const node = program.command('node').description('ask a process to take no more tasks, or to take tasks again')
  for (const [name, quiet, description] of [
    ['quiet', true, 'have a process finish what it holds, and take no more tasks'],
    ['resume', false, 'have a process take tasks again'],
  ] as const)
    withCommon(node.command(name).description(description))
      .argument('<owner>', 'the owner of the process, or the beginning of its name')
      .option('--note <text>', 'why')
      .addHelpText('after', `\nExample:\n  taskstream node ${name} worker-2`)
      .action(async (owner: string, { note, ...options }: CommonOptions & { readonly note?: string }) => {
        await using database = await openDatabase(options)
        const found = await find(database, owner)
        const { changed, id } = await switchNode(operatorOf(database, note), found.owner, name)
        const asked = `asked to ${quiet ? 'take no more tasks' : 'take tasks again'}`
        const line = `${found.owner} is ${changed ? `${asked}, and does so when it reports next` : `already ${asked}`}`
        const json = { owner: found.owner, quiet, changed, audit: id }
        printDone({ json, lines: [line], names: [found.owner] }, options)
        tellUndo(id, `node ${name}`)
      })
}

async function read(database: NamedDatabase, withinMs: number): Promise<readonly NodeInfo[]> {
  return await database.reading<readonly NodeInfo[]>((transaction) => database.tasks.nodes(transaction, { withinMs }))
}

/** @throws CommandError missing, unless one process is meant */
async function find(database: NamedDatabase, owner: string): Promise<NodeInfo> {
  const all = await read(database, 7 * 86_400_000)
  const found = all.filter((node) => node.owner === owner)
  // A scheduler has a name that begins as that of its node.
  if (found.length === 0) found.push(...all.filter((node) => node.owner.startsWith(owner) && node.report?.kind !== 'scheduler'))
  if (found.length === 0) found.push(...all.filter((node) => node.owner.startsWith(owner)))
  const [node] = found
  if (!node) throw new CommandError('missing', `no process ${owner} in ${database.place} (list them: taskstream nodes)`)
  const living = found.filter(({ life }) => life === 'living' || life === 'silent')
  if (found.length > 1 && living.length !== 1)
    throw new CommandError(
      'missing',
      `${found.length} processes begin with ${owner}: ${found.map((each) => each.owner).join(', ')}`,
    )
  return living[0] ?? node
}

export const nodeColumns: readonly Column<NodeInfo>[] = [
  { name: 'owner', rank: 0, kind: 'identifier', value: ({ owner }) => owner },
  { name: 'state', rank: 0, kind: 'word', value: ({ life, quiet }) => (quiet && life !== 'stopped' ? `${life}, quiet` : life) },
  { name: 'release', rank: 1, kind: 'text', value: ({ release }) => release },
  { name: 'heartbeat', rank: 2, kind: 'instant', value: ({ heartbeat }) => heartbeat },
  { name: 'topics', rank: 2, kind: 'text', value: topicsOf },
  { name: 'busy', rank: 3, kind: 'text', value: busyOf },
  { name: 'ended 1 min', rank: 4, kind: 'number', value: ({ report }) => report && sum(report.topics.map(({ ended }) => ended)) },
  { name: 'failed', rank: 4, kind: 'number', value: ({ report }) => report && sum(report.topics.map(({ failed }) => failed)) },
  { name: 'started', rank: 5, kind: 'instant', value: ({ started }) => started },
  { name: 'error', rank: 1, kind: 'text', value: troubleOf },
]

export const heldColumns: readonly Column<HeldInfo>[] = [
  { name: 'topic', rank: 0, kind: 'identifier', value: ({ topic }) => topic },
  { name: 'sequence', rank: 0, kind: 'number', value: ({ sequence }) => sequence },
  { name: 'identifier', rank: 0, kind: 'identifier', value: ({ identifier }) => identifier },
  { name: 'held for', rank: 1, kind: 'instant', value: ({ started }) => started },
  { name: 'attempt', rank: 2, kind: 'number', value: ({ attempt }) => attempt },
]

function topicsOf({ report }: NodeInfo): string | undefined {
  if (report?.kind === 'scheduler') return '(timers)'
  const names = report?.topics.map(({ topic }) => topic).join(' ')
  return report?.omitted ? `${names} and ${report.omitted} more` : names
}

function busyOf({ report }: NodeInfo): string | undefined {
  if (!report || report.stopped || report.topics.length === 0) return undefined
  const hung = sum(report.topics.map((topic) => topic.hung))
  return `${sum(report.topics.map(({ busy }) => busy))}/${sum(report.topics.map(({ concurrency }) => concurrency))}${hung > 0 ? `, ${hung} hung` : ''}`
}

function troubleOf({ report }: NodeInfo): string | undefined {
  const trouble = report?.error ?? report?.topics.find(({ error }) => error)?.error
  if (trouble) return `${trouble.activity}: ${trouble.message}`
  const newer = report?.topics.find((topic) => topic.newer)?.newer
  return newer && `puts off: ${newer.message}`
}

function sum(values: readonly (number | undefined)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0)
}
