/** Runs programs on a terminal of their own, as a person does: `script` of util-linux makes one. */
import { execFileSync, spawn } from 'node:child_process'
import { nodeArguments, output } from './command-line.ts'
import type { Following } from './command-line.ts'

/** Whether this machine has the `script` of util-linux. The one of macOS and BSD takes other arguments. */
export const hasTerminal: boolean = has('script', /util-linux/)

export interface Typing extends Following {
  /** Types on the keyboard of the terminal. Ctrl-C is `\u0003`. */
  type(text: string): void
}

interface TerminalOptions {
  readonly columns: number
  readonly rows?: number
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

/** The command line. What is typed is not shown, so that only its own output is. */
export function onTerminal(args: readonly string[], options: TerminalOptions): Typing {
  return start(`stty -echo; exec ${quoted([process.execPath, ...nodeArguments, ...args])}`, options)
}

/** A shell, which shows what is typed. */
export function onShell(program: string, args: readonly string[], options: TerminalOptions): Typing {
  return start(`exec ${quoted([program, ...args])}`, options)
}

function start(command: string, { columns, rows = 24, cwd, env: more }: TerminalOptions): Typing {
  const { TASKSTREAM_URL: _, NO_COLOR: __, ...inherited } = process.env
  const child = spawn('script', ['-qefc', `stty cols ${columns} rows ${rows}; ${command}`, '/dev/null'], {
    cwd,
    env: { ...inherited, SHELL: '/bin/sh', ...more },
  })
  const type = (text: string): void => void child.stdin.write(text)
  const following = output(child)
  return {
    ...following,
    type,
    interrupt: () => {
      type('\u0003')
      return following.ended
    },
  }
}

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ')
}

/** Whether a program is here whose version says so. */
export function has(program: string, version: RegExp): boolean {
  try {
    return version.test(execFileSync(program, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
  } catch {
    return false
  }
}
