/** Runs the command line as a process of its own; in runs of mutants, in the test's process if that can be. */
import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { join } from 'node:path'
import type { Subject } from '../subject.ts'

export interface Run {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

interface RunOptions {
  readonly stdin?: string
  /** Whether to close the standard output of the command as soon as something is written there. */
  readonly closeEarly?: boolean
  /** TASKSTREAM_URL; default: none. */
  readonly url?: string
  readonly cwd?: string
  /** Further variables of the environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** What Node.js is given to run the command. */
export const nodeArguments: readonly string[] = [
  '--no-warnings',
  '--conditions=@taskstream/source',
  join(import.meta.dirname, '..', '..', 'packages', 'task-cli', 'src', 'cli.ts'),
]

/** Undefined outside of runs of mutants: what is promised is about processes. */
const here = process.env['TASKSTREAM_MUTANTS'] === undefined ? undefined : await import('./command-here.ts')

export function run(args: readonly string[], { stdin = '', closeEarly = false, ...options }: RunOptions = {}): Promise<Run> {
  if (here && !here.isBusy() && !closeEarly) return here.runHere(args, { stdin, env: environment(options), cwd: options.cwd })
  const child = start(args, options)
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    if (closeEarly) child.stdout.destroy()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdin.end(stdin)
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

/** A command that goes on until it is told to end. */
export interface Following extends AsyncDisposable {
  readonly ended: Promise<Run>
  /** Waits until the output, of both kinds, has this. @throws Error if the command ends before */
  until(pattern: RegExp): Promise<void>
  /** What it has written to its standard output until now. */
  written(): string
  /** Does what Ctrl-C does. */
  interrupt(): Promise<Run>
}

export function follow(args: readonly string[], options: RunOptions = {}): Following {
  const child = start(args, options)
  if (options.stdin !== undefined) child.stdin.end(options.stdin)
  return output(child)
}

/** Collects what a process writes. */
export function output(child: ChildProcessWithoutNullStreams): Following {
  let [out, err] = ['', '']
  let look = (): void => {}
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    look()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
    look()
  })
  const ended = new Promise<Run>((resolve) => child.on('close', (code) => resolve({ code, out, err })))
  const tooEarly = async (pattern: RegExp): Promise<void> => {
    const run = await ended
    if (!pattern.test(run.out + run.err)) throw new Error(`ended with ${run.code} before ${pattern}: ${run.out}${run.err}`)
  }
  return {
    ended,
    until: (pattern) => {
      const seen = new Promise<void>((resolve) => {
        look = () => pattern.test(out + err) && resolve()
        look()
      })
      return Promise.race([seen, tooEarly(pattern)])
    },
    written: () => out,
    interrupt: () => {
      child.kill('SIGINT')
      return ended
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

function start(args: readonly string[], options: RunOptions): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [...nodeArguments, ...args], { env: environment(options), cwd: options.cwd })
}

function environment({ url, env }: RunOptions): NodeJS.ProcessEnv {
  const { TASKSTREAM_URL: _, ...inherited } = process.env
  return { ...inherited, ...(url !== undefined && { TASKSTREAM_URL: url }), ...env }
}

/** Returns the URL of the suite's database for the command line. */
export function urlOf({ engine, location: { subject, at } }: Pick<Subject, 'engine' | 'location'>): string {
  // The URL of the server does not say whether the server is MariaDB or MySQL.
  return engine === 'sqlite' ? `sqlite:${at}` : at.replace(/^mysql:/, `${subject}:`)
}
