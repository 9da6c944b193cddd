/** Asks before writes that are large or cannot be undone. */
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { visible } from '../output/visible.ts'
import type { Context } from './contexts.ts'
import { CommandError } from './exit-codes.ts'
import { onInterrupt } from './interrupt.ts'

export interface ConfirmOptions {
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly confirm?: string
}

interface Write {
  /** What will happen, in a sentence. */
  readonly preview: string
  /** How many tasks are written. */
  readonly count: number
  /** Whether the name of a production context is asked for, however few tasks there are. */
  readonly isGrave?: boolean
}

/** Of more tasks than this, the name of a production context is asked for. */
const mostUnnamed = 1_000

export function withConfirmation(command: Command): Command {
  return withContextName(command)
    .option('--dry-run', 'only say what would be done')
    .option('-y, --yes', 'do not ask; needed where nobody can be asked')
}

/** Adds the option that stands for the question of a production context. */
export function withContextName(command: Command): Command {
  return command.option('--confirm <context>', 'the name of the production context, instead of being asked for it')
}

/**
 * Shows on standard error what will be done, and asks whether to go on.
 *
 * @throws CommandError refused, unless somebody or an option says yes
 */
export async function confirmWrite(write: Write, where: { readonly context?: Context }, options: ConfirmOptions): Promise<void> {
  console.error(visible(write.preview))
  if (await confirmContext(write, where, options)) return
  if (options.yes) return
  if (!canAsk()) throw new CommandError('refused', 'not confirmed, and nothing was written: give --yes where nobody can be asked')
  const answer = await ask('Go on? [y/N] ')
  if (!/^y(es)?$/i.test(answer)) throw new CommandError('refused', 'not confirmed, and nothing was written')
}

/**
 * Asks for the name of a production context, if the write is grave or large.
 *
 * @returns whether the name was asked for and given
 * @throws CommandError refused, unless it is given
 */
export async function confirmContext(
  { count, isGrave = false }: Omit<Write, 'preview'>,
  { context }: { readonly context?: Context },
  { confirm }: Pick<ConfirmOptions, 'confirm'>,
): Promise<boolean> {
  if (confirm !== undefined && confirm !== context?.name)
    throw new CommandError(
      'refused',
      `--confirm ${confirm} is not the context in use${context === undefined ? ', as none is' : `, which is ${context.name}`}: nothing was written`,
    )
  if (!context?.production || !(isGrave || count > mostUnnamed)) return false
  if (confirm !== undefined) return true
  const how = `context "${context.name}" is production: nothing was written`
  if (!canAsk()) throw new CommandError('refused', `${how}. Give --confirm ${context.name}`)
  if ((await ask(`This is production. Type ${context.name} to go on: `)) !== context.name) throw new CommandError('refused', how)
  return true
}

/** Standard output may go to a file, while somebody sits at the terminal. */
function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  terminal.once('SIGINT', () => {
    // The terminal is as it was before the process ends.
    terminal.close()
    onInterrupt()
  })
  // The end of the input is no answer.
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')))
  try {
    return (await Promise.race([terminal.question(question), closed])).trim()
  } finally {
    terminal.close()
  }
}
