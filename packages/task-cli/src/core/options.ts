import { filterStates } from '@taskstream/task-api'
import type { FilterState, TaskFilter } from '@taskstream/task-api'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { withOutput } from '../output/format.ts'
import type { OutputOptions } from '../output/format.ts'
import type { SourceOptions } from './source.ts'

/** The options of every command. */
export interface CommonOptions extends SourceOptions, OutputOptions {}

export interface FilterOptions {
  readonly state?: readonly FilterState[]
  readonly identifier?: string
  readonly reference?: string
  readonly from?: number
  readonly to?: number
}

export function withCommon(command: Command): Command {
  return withOutput(withDatabase(command))
}

/** Adds the options that say which database is meant. */
export function withDatabase(command: Command): Command {
  return command
    .option('--url <url>', 'postgres://…, mariadb://…, mysql://… or sqlite:<file>')
    .option('--url-file <path>', 'a file that has the address')
    .option('--context <name>', 'a database of taskstream.json')
    .option('--schema <name>', 'schema of the tables on PostgreSQL (default: taskstream)')
}

export function withFilter(command: Command): Command {
  return command
    .option(
      '--state <state>',
      `only tasks in this state: ${filterStates.join(', ')}; several with commas, or by giving it several times`,
      collect,
    )
    .option('--identifier <text>', 'only tasks of this identifier')
    .option('--reference <text>', 'only tasks with this reference')
    .option('--from <sequence>', 'only tasks from this sequence on', integer)
    .option('--to <sequence>', 'only tasks up to this sequence', integer)
}

export function toFilter({ state, identifier, reference, from, to }: FilterOptions): TaskFilter {
  return {
    ...(state && { states: state }),
    ...(identifier !== undefined && { identifier }),
    ...(reference !== undefined && { reference }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  }
}

export function integer(text: string): number {
  if (!/^-?\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

export function positive(text: string): number {
  const value = integer(text)
  if (value < 1) throw new InvalidArgumentError('It must be at least 1.')
  return value
}

/** Several may be given at once, too: no state has a comma in its name. */
function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, ...value.split(',').map((state) => state.trim())]
}
