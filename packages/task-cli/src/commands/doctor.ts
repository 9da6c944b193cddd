import { readFileSync, writeFileSync } from 'node:fs'
import { isTaskError } from '@taskstream/task-api'
import { bundleOf, examine, isAtLeast, unreachable, worstFirst } from '@taskstream/task-operations'
import type { Finding } from '@taskstream/task-operations'
import { Option } from 'commander'
import type { Command } from 'commander'
import { connect } from '../core/database.ts'
import { exitCodes } from '../core/exit-codes.ts'
import { integer, withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import type { Column } from '../output/column.ts'
import { formatOf } from '../output/format.ts'
import { printList } from '../output/print.ts'
import { visible } from '../output/visible.ts'
import { printWrapped } from '../output/wrap.ts'

interface DoctorOptions extends CommonOptions {
  readonly deep?: boolean
  readonly failOn: 'warn' | 'crit'
  readonly leaseMs: number
  readonly bundle?: string
}

export function addDoctor(program: Command): void {
  withCommon(
    program
      .command('doctor')
      .description('examine the database and the tasks in it; writes nothing, and runs none of its remedies'),
  )
    .option('--deep', 'make checks too that read the whole database')
    .addOption(new Option('--fail-on <severity>', 'from where on the exit code is 4').choices(['warn', 'crit']).default('warn'))
    .option('--lease-ms <ms>', 'the lease of your nodes', integer, 30_000)
    .option('--bundle <file>', 'write the findings, without texts that could name anything of yours, for a report')
    .addHelpText(
      'after',
      `
Exit codes: 0 well, 4 something is wrong, 75 the database cannot be reached.

Examples:
  taskstream doctor
  taskstream doctor --fail-on crit --json
  taskstream doctor --deep --bundle report.json`,
    )
    .action(async (options: DoctorOptions) => {
      const findings = worstFirst(await findingsOf(options))
      if (options.bundle !== undefined)
        writeFileSync(options.bundle, `${JSON.stringify(toBundle(findings, options), undefined, 2)}\n`)
      print(findings, options)
      process.exitCode = exitCodeOf(findings, options)
    })
}

async function findingsOf({ deep = false, leaseMs, ...options }: DoctorOptions): Promise<readonly Finding[]> {
  try {
    await using database = await connect(options)
    const { tasks, reading, notifier } = database
    return await examine({ tasks, transactions: reading, deep, leaseMs, ...(notifier && { notifier }) })
  } catch (error) {
    // A file that is missing is as a server that does not answer. A wrong option is an error.
    if (isTaskError(error) && error.code.startsWith('DATABASE_')) return [unreachable(error)]
    throw error
  }
}

export const findingColumns: readonly Column<Finding>[] = [
  { name: 'check', rank: 0, kind: 'word', value: ({ check }) => check },
  { name: 'severity', rank: 0, kind: 'word', value: ({ severity }) => severity },
  { name: 'measured', rank: 1, kind: 'text', value: ({ measured }) => measured },
  { name: 'threshold', rank: 2, kind: 'text', value: ({ threshold }) => threshold },
]

function print(findings: readonly Finding[], options: CommonOptions): void {
  printList({ columns: findingColumns, rows: findings, name: ({ check }) => check }, options)
  if (!['table', 'wide'].includes(formatOf(options))) return
  for (const { check, severity, measured, remedy, page } of findings) {
    if (severity === 'ok' || (severity === 'skipped' && remedy === undefined)) continue
    console.log()
    printWrapped(`${severity} ${check}: ${visible(measured)}`)
    if (remedy !== undefined) printWrapped(visible(remedy), '  ')
    if (page !== undefined) printWrapped(`docs/${page}`, '  ')
  }
}

function toBundle(findings: readonly Finding[], { deep = false, leaseMs }: DoctorOptions): object {
  // mutants: equivalent string `'utf8'`, JSON is parsed from bytes too
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  const versions = { taskstream: version, node: process.versions.node, platform: `${process.platform}-${process.arch}` }
  return bundleOf(findings, versions, { deep, leaseMs })
}

/** The database that cannot be reached goes before all else that is wrong. */
export function exitCodeOf(findings: readonly Finding[], { failOn }: Pick<DoctorOptions, 'failOn'>): number {
  if (findings.some(({ check, severity }) => check === 'reachable' && severity === 'crit')) return exitCodes.unreachable
  return findings.some(({ severity }) => isAtLeast(severity, failOn)) ? exitCodes.no : exitCodes.done
}
